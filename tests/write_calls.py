"""The statements of random programs that write by calls, in parallel and in loops, as `write_forms` explains."""

from tests.random_programs import lines

OUTPUTS = lines("""
np.multiply({V}, {V}, out={v})
np.multiply({v1}, {E}, out={v1})
np.multiply({v1}, {v1}, {v1})
np.add({V}, {E}, out={v}[::-1])
np.add({v1}[1:], {v1}[:-1], out={v1}[1:])
np.subtract({V}, {V}, out={v})
np.tanh({V}, {v})
np.tanh({v1}, out={v1})
np.sin({V}, out={v})
np.exp({V} * 0.3, out={v})
np.sqrt({V} ** 2 + 1.0, out={v})
np.negative({v1}, {v1})
np.divide({V}, 2.0 + np.cos({E}), out={v})
np.square({V}, out={v})
np.maximum({V}, {v}, out={v})
np.minimum({V}, {c}, out={v})
np.clip({V}, -0.8, 0.9, out={v})
np.matmul(B, {V}, out={v})
np.matmul({V}, B, out={m}[{r}])
np.matmul({m1}, B, out={m1})
np.sum({M}, axis=0, out={v})
{m}.sum(axis=0, out={v})
np.mean({m}, 0, None, {v})
np.cumsum({V}, out={v})
np.concatenate([{H}, {H}], out={v})
np.multiply({M}, {V}, out={m})
np.exp({H} * 0.5, out={h})
{a} = np.multiply({V}, {E}, out={v})
{a} = np.add({v1}, {V}, out={v1})
np.add.at({v}, {i}, {T})
np.add.at({v}, {i}, {E})
np.subtract.at({v}, {i}, {T})
np.add.at({m}, ([0, 0, 2], {i}), {T})
np.copyto({v}, {V})
np.copyto({v}, {V}, where={b})
np.copyto({m}, {V})
np.put({v}, [1, 3], {H})
np.put({v}, [2, 2], {H})
{v}.put([0, 3], {E})
np.putmask({v}, {b}, {V})
np.place({v}, {b}, {H})
{v}.fill({E})
{h}.fill({E})
np.fill_diagonal({m}[:, :3], {E})
np.fill_diagonal({m}, {T})
np.put_along_axis({v}, np.array([2, 0]), {H}, 0)
{v}.sort()
{h}.sort()
{m}.sort(axis=0)
{m}.sort()
np.einsum("i,i->i", {V}, {v}, out={v})
np.outer({T}, {V}, out={m})
np.stack([{v}, {V}, {v}], out={m})
np.take({V}, {j}, out={v})
np.prod({M}, axis=0, out={v})
np.max({M}, axis=0, out={v})
np.cumprod({V}, out={v})
np.power({V} ** 2 + 0.5, {E}, out={v})
np.hypot({V}, {v1} + 2.0, {v1})
np.add({v1}, {v1}, out={v1})
np.multiply({v1}[:-1], {v1}[1:], out={v1}[1:])
np.add({E}, {E}, out={v}[{k}, ...])
np.add({v}, {V}, out=({v},))
np.add.reduce({M}, axis=0, out={v})
(np.add if {t} else np.multiply)({V}, {v}, out={v})
np.copyto(dst={v}, src={E})
np.copyto({v1}[1:], {v1}[:-1])
np.nan_to_num({v}, copy=False)
np.put({v}, {i}, {E})
np.arctan2({V}, 2.0, out={v})
""")

PARALLEL = lines("""
{a1}, {a2} = {a2}, {a1}
{a1}, {a2} = {a2}, {V}
{a}, {a} = {V}, {v}
({a}, {a}), {e} = [{v}, {V}], {E}
{a}, *rest = {v}, {V}; {a} = rest[0]
{v1}[0], {v1}[1] = {v1}[1], {v1}[0]
{v1}[:2], {v1}[2:] = {v1}[2:], {v1}[:2]
{v1}[:2], {v1}[2:] = {v1}[2:] * 1.0, {v1}[:2] * {E}
{m1}[0], {m1}[1] = {m1}[1], {m1}[0]
{m1}[0], {m1}[1] = {m1}[1].copy(), {m1}[0] * {E}
{v}[{k}], {e} = {E}, {v}[{k}]
{e}, {v}[{k}] = {v}[{k}], {E}
{h1}[0], {h1}[1] = {E}, {h1}[0]
{v}[:], {e} = {V}, {E}
{v}[{k}], {v}[{k}] = {H}
{a} = {a} = {V}
{v}[0], {h}[1], {e} = {T}
[{a}, {v}[{k}]] = {V}, {E}
({a1}[1:], {a2}) = ({a2}[:-1], {a1})
{a1}, {a2}[0], {a1}[1] = {a2}, {E}, {E}
""")

CALLS = lines("""
fill({v}, {V}, {E})
fill({v}[::-1], {V}, {E})
{a} = fill({v}, {V}, {E})
{a} = fill(np.zeros(4), {V}, {E})
fill({v1}[:3], {v1}[1:], {E})
reverse_fill({v}, {V})
reverse_fill({h}, {h})
reverse_fill({m}[{r}], {m}[{r}])
tail({v}, {E})
{a} = tail({v}, {E})
halves({v}, {E})
halves({m}[{r}], {E})
mix({v}, {v}, {E})
mix({v1}[:3], {v1}[1:], {E})
mix({h}, {h}, {E})
mix({m1}[0], {m1}[1], {E})
store({l}, {v}, {E})
keep({d}, "v", {v})[1:] *= {E}
{a} = keep({d}, "w", {V})
maybe({v}, {t})[{k}] = {E}
either({v}, {v}, {t})[{k}] *= {E}
rows({m}, {V})
rows({m}.T[:, ::-1].T, {v})
normalise({v})
{a} = normalise({v})
normalise({m}[{r}])
relax({v}, {E}, n)
{e} = accumulate({v})
accumulate({m}[:, {k}])
first({V}, {E}, out={v})
{a} = march({v}, n)
{a} = history({V}, n)
{e} = picked({v}, {E})
picked({h}, {E})
grow({V})
{a} = grow({V})
grow({v})[{k}] = {E}
tabled({V}, {E})
{a} = tabled({V}, {E})
tabled({V}, {E})[{k}] *= {E}
remember({v})
{a} = remember({V})
(lambda q: q.fill({E}))({v})
fill(k={E}, out={v}, a={v})
[fill(q, {V}, {E}) for q in {l}[:2]]
[q.fill({E}) for q in ({v}[1:], {v}[:1])]
for q in {l}[:2]: normalise(q)
spread({l}, {E})
spread([{v}, {V}], {E})
{a} = spread([{v}, {v}], {E})
nested(({v}, [{v}, {V}]), {E})
{a} = nested(({v}, [{V}, {v}]), {E})
buffered({V})
{a} = buffered({v})
buffered({v})[{k}] = {E}
countdown({v}, n, {E})
{a} = countdown({v}, n, {E})
{a} = closure({v}, {E})(n)
gauss_seidel({v}, {V})
bubble({v}, {E})
mix({v}[::-1], {v}, {E})
mix({m}[{r}], {m}[{r}], {E})
{o}.v = fill({o}.w, {o}.v, {E})
{d}["v"] = tail({d}["v"], {E})
slow({v}); {v}[{k}] = {E}
{a1} = slow({v1}); {v1} *= {a1}; {a1} += {V}
{a1} = kept({v1}, {v2}); {v1} *= {a1}; {v2} += {a1}
(q := np.linalg.solve(S, {v1})).sort(); {v1} -= q
""")

FILLS = """
{new} = np.empty(4)
for step in range(4):
    {new}[step] = {E}
---
{new} = np.empty_like({v})
for step, q in enumerate({v}):
    {new}[step] = q * {E}
---
{new} = np.empty(4)
{new}[0] = {E}
for step in range(3):
    {new}[step + 1] = np.sin({new}[step]) * {E}
---
{new} = np.zeros(4)
for step in range(1, 4):
    {new}[step] += {new}[step - 1] * 0.5 + {v}[-step]
---
{new} = np.full((3, 4), {E})[{r}]
for q in ({v}, {V}):
    {new} += q
---
{new} = np.zeros((2, 4))
{new}[0] = {V}
for step in range(3):
    {new}[(step + 1) % 2] = {new}[step % 2] * {E} + {v}
{new} = {new}[1]
---
{new} = np.empty((4, 3))
for step in range(3):
    {new}.T[step] = {V}
{new} = {new}.sum(axis=1)
---
{new} = {V}
{e} = {new}[0]
{new}[0] = {E}
{new}[1] *= {e}
---
{new} = np.tanh({v1})
{new} *= 2.0
{v1} += {new}
---
{new} = np.exp({v1} * 0.3)
np.multiply({new}, {v1}, out={v1})
{new}[1:] = 0.5
---
{new} = [{v}, {v}, {V}]
for q in {new}:
    q *= {E}
{new} = {new}[1] * {new}[2]
---
{new} = np.zeros(4)
for q in {m}:
    {new} += q * {E}
    q[0] = {new}[1]
---
{new} = np.empty(4)
while True:
    step += 1
    {new}[step % 4] = {E}
    {new}[(step + 1) % 4] = {v}[{k}]
    if step > 3:
        {new}[(step + 2) % 4], {new}[(step + 3) % 4] = {H}
        break
---
{new} = np.zeros((2, 2))
for at in np.ndindex(2, 2):
    {new}[at] = {v}[at[0]] * {v}[2 + at[1]]
{new} = {new}.reshape(-1)
---
{new} = np.zeros(4)
for at, q in np.ndenumerate({v}):
    {new}[at] += q * {E}
---
{new} = np.zeros(4)
{new}[1:3] = {H}
cut = {new}[2:]
{new} *= {E}
cut += {E}
---
{new} = np.greater({v1}, {c})
{v1}[{new}] *= {E}
{new}[:] = {V} > {c}
{v1}[{new}] = {E}
{new} = {v1} * {new}
---
{new} = np.array([0, 1, 2, 3])
for step in range(2):
    {v1}[{new}] *= {V}
    {new}[step] = 3 - step
    {new} = {new}[::-1]
{new} = {v1}[{new}]
---
{new} = {V}
def inside(q):
    nonlocal {new}
    {new}[1:] *= q
    {new} = {new}[::-1]
inside({E})
---
{new} = [np.zeros(4) for _ in range(2)]
for step in range(3):
    {new}[step % 2][step] = {E}
    {new}[(step + 1) % 2] += {new}[step % 2] * 0.5
{new} = {new}[0] + {new}[1]
---
{new} = {{ }}
for step in range(3):
    {new}.setdefault(step % 2, np.zeros(4))[step:] += {E}
{new} = {new}[0] * {new}[1]
"""

LOOPS = lines("""
step in range(3)
step in range(2)
step in range(n)
step in reversed(range(2))
step, {v+} in enumerate({m})
step, {v+} in enumerate({l}[:3])
{v+} in {m}
{v+} in {m}[::-1]
{v+} in ({v}, {v})
{v+} in [{v}, {V}]
{v+} in {l}[:3]
{v+}, {e+} in zip({m}, {v})
{v+}, {v+} in zip({m}, {l}[:2])
{v+}, {v+} in zip(({v}, {v}), {m})
step, ({v+}, {e+}) in enumerate(zip({m}, {V}))
{e+} in {v}
step, {e+} in enumerate({v})
{v+} in list({d}.values())
_, {v+} in list({d}.items())
{h+} in {v}.reshape(2, 2)
step, {v+} in zip(range(n), {m})
{v+}, {v+} in [({v}, {V}), ({V}, {v})]
{v+} in [{v} * q for q in (0.5, {E})]
{m+} in ({m}, {m}[::-1])
{h+} in ({v}[:2], {v}[1:3], {v}[2:])
{v+} in {m}.T.T[1:]
step in ({r}, {r})
""")
