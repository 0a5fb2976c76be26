"""What names are bound to in random programs with writes, and expressions, as forms that a generator fills in.

A small letter in braces is a place that can be written: v an array of shape (4,), a a name of one, h of shape (2,),
m (3, 4), z complex (2,), b a mask and i an array of indices for (4,), j a permutation; l a list of v, d a dict, o a
`Box`. A capital is an expression: V, H, M, Z of these shapes, T of shape (3,), E a number. Then k and r are indices
for 4 and 3, t a test, c a literal. A digit after the letter means the same text again.
"""

from tests.random_programs import lines

ALIASES = {
    "v": lines("""
{v}
{v}[::-1]
{v}[:]
{v}[...]
{m}[{r}]
{m}[::-1][{r}]
{m}.T[:, {r}]
{m}[:, ::-1][{r}]
{m}.reshape(-1)[2:6]
{m}.ravel()[::3]
{v}.reshape(2, 2).ravel()
{v}.reshape(2, 2).T.reshape(-1)
{v}.reshape(2, 2).T.ravel(order="K")
{v}.ravel()
np.ravel({v})
np.asarray({v})
np.ascontiguousarray({v})
np.array({v})
{v}.astype(float, copy=False)
{v}[None, :][0]
np.squeeze({v}[None])
np.atleast_2d({v})[0]
np.flip({v})
{v}.T
same({v})
maybe({v}, {t})
either({v}, {v}, {t})
({v} if {t} else {v}.copy())
({v} if {t} else {v})
({v}, {v})[n % 2]
[{v}, {V}][flag]
(lambda q: q)({v})
(lambda q: q[::-1])({v})
{l}[-1]
{l}[0]
{d}["v"]
{d}.get("v", {v})
{d}.setdefault("s", {v})
{o}.v
{o}.back
tail({v}, {E})
fill({v}, {V}, {E})
first({V}, {E}, {v})
{v}.copy()
np.copy({v})
np.zeros(4)
np.ones(4)
np.zeros_like({v})
np.full(4, {E})
np.tanh({V})
np.exp({V} * 0.3)
np.sqrt({V} ** 2 + 1.0)
{V}
{V}
{V}
{m}[{r}, ...]
{m}[{r}, :]
{m}.T.T[{r}]
{m}[[{r}, 0]][0]
np.split({m}, 3)[1][0]
np.reshape({v}, (4, 1))[:, 0]
np.moveaxis({m}, 0, 1)[:, {r}]
np.stack([{v}, {V}])[0]
list({m})[{r}]
next(iter({l}))
{l}[flag]
{z}.view(float)
np.linalg.solve(S, {V})
np.sort({V})
np.cumsum({V})
slow({V})
slow({v})
kept({V}, {v})
"""),
    "h": lines("""
{v}[:2]
{v}[2:]
{v}[::2]
{v}[1:3]
{v}[::-2]
{m}[{r}, 1:3]
{m}[:2, {k}]
{m}[1:, ::-1][:, {k}]
{z}.real
{z}.imag
np.split({v}, 2)[1]
{v}.reshape(2, 2)[0]
{v}.reshape(2, 2)[:, 1]
{v}.reshape((2, -1)).T[0]
{h}[::-1]
({h} if {t} else {h}.copy())
{H}
{v}[n % 2::2]
{v}[[0, 2]]
{h}.T
{m}[:2, {k}:][:, 0]
{m}[1:, -1]
"""),
    "m": lines("""
{m}
{m}[::-1]
{m}[:, ::-1]
{m}.T.T
{m}.reshape(4, 3).T
{m}.reshape(2, 6).reshape(3, 4)
np.asarray({m})
({m} if {t} else {m}.copy())
rows({m}, {V})
{m}.copy()
{m}.copy(order="F")
np.zeros((3, 4))
np.array([{v}, {V}, {v}])
np.stack([{v}, {v}, {V}])
np.outer({T}, {V})
{M}
np.vstack([{v}, {V}, {v}])
np.ascontiguousarray({m})
np.asfortranarray({m})
{m}[...]
np.tanh({M})
np.ones((3, 4)) * {V}
"""),
    "z": lines("""
{z}
{z}[::-1]
{z}.copy()
({z} if {t} else {z} * 1j)
np.zeros(2, complex)
{Z}
"""),
    "b": lines("""
{V} > {c}
{v} < {v}
np.greater({V}, {E})
{b}
{b}[::-1]
~{b}
"""),
    "i": lines("""
np.array([2, 0, 2])
np.array([3, 1, 0])
{i}
{i}[::-1]
np.array([n % 4, 1, 3])
np.argsort({v})[:3]
"""),
    "e": lines("""
{E}
{v}[{k}]
{m}[{r}, {k}]
np.sum({V})
picked({v}, {E})
accumulate({v})
float({E})
{v}.sum()
np.prod({V})
{h}[0]
"""),
    "l": lines("""
{l}
{l}[:]
list({l})
[{v}, {V}]
[{v}, *{l}[:2]]
store({l}, {v}, {E})
[q for q in {l}[:3]]
[q[::-1] for q in {l}[:3]]
"""),
    "d": lines("""
{d}
dict({d})
{{ "v": {v}, "w": {V} }}
dict(v={v}, w={v})
"""),
    "o": lines("""
{o}
Box({v}, {v}, {E})
{o}.add({V})
"""),
}

EXPRESSIONS = {
    "V": lines("""
{V} * {E}
{V} * {V} * 0.5
{V} + {V} * 0.5
{V} - {v}
np.tanh({V})
np.tanh({v})
np.sin({V} + {E})
np.cos({v})
np.exp({V} * 0.3)
{V} / ({V} ** 2 + 1.5)
{v}[::-1]
{v}[{j}]
{m}[{r}]
{m}.sum(axis=0) * 0.3
{m}.T @ {T} * 0.3
np.where({V} > {c}, {V}, {v})
np.where({b}, {v}, {E})
np.concatenate([{H}, {h}])
np.concatenate([{v}[1:], {v}[:1]])
{v}.copy()
np.roll({v}, 1)
np.cumsum({V}) * 0.3
B @ {V} * 0.3
np.array([{E}, {E}, {E}, {E}])
({v} if {t} else {V})
fill({v}, {V}, {E})
tail({v}, {E})
first({V}, {E})
{o}({V})
{o}.v * {o}.c
tabled({V}, {E})
remember({V})
normalise({V} * 1.0)
relax({V} * 1.0, {E}, n)
march({V}, n)
history({V}, n)
grow({V})
sum({l}[:2]) * 0.5
np.linalg.solve(S, {V})
np.linalg.solve(S, {v}) * {v}
slow({v})
kept({v}, {V})
np.sort({V})
np.diff({V}, prepend={E})
np.interp({V}, np.arange(4.0), {v})
np.maximum({v}, {V})
np.linalg.norm({v}) * {v} * 0.3
(lambda q: q * {v})({V})
[q * 0.5 for q in ({v}, {V})][n % 2]
fill(out={v}, a={V}, k={E})
fill(*[{v}, {V}], k={E})
"""),
    "H": lines("""
{v}[:2]
{v}[1:3]
{h}
{h} * {E}
np.sin({H}) + {h}
{z}.real
{z}.imag * {E}
abs({z}) ** 2 * 0.5
np.array([{E}, {E}])
{V}[::2]
{m}[:2, {k}]
"""),
    "T": lines("""
{v}[1:]
{v}[{i}]
{V}[:3]
{m}[:, {k}]
{m}.mean(axis=1)
{T} * {E}
"""),
    "M": lines("""
{m}
{m} * {E}
{m} * {V}
np.tanh({M})
{m} + {M} * 0.5
np.outer({T}, {V})
{m}[::-1]
{m} @ B * 0.5
"""),
    "Z": lines("""
{z}
{z} * {z} * 0.5
{z} * {E}
{z}.conj()
np.exp(1j * {H})
{H} + 1j * {H}
"""),
    "E": lines("""
{v}[{k}]
{v}[{k}]
{m}[{r}, {k}]
{h}[1]
np.sum({V}) * 0.25
{v} @ {V} * 0.3
np.sin({E})
{E} * {E} * 0.5
({E} + {E}) * 0.5
np.max({V})
{m}.mean()
({E} if {t} else {E})
picked({v}, {E})
accumulate({v})
{o}.c
float({v}[{k}])
np.mean({M})
{z}[0].real
np.prod({v}) * 0.4
{v}[{k}] * {v}[{k}]
sum(q for q in {v}) * 0.2
sum([q * q for q in {v}]) * 0.2
np.linalg.norm({V})
{v}[n % 2:].sum() * 0.3
"""),
    "t": lines("""
{E} > {c}
{v}[{k}] < {c}
flag
not flag
n > 1
n % 2 == 0
step % 2 == 0
step > 1
{a} is {a}
len({l}) > 3
np.any({v} > 0.9)
{b}[{k}]
-0.5 < {E} < 0.8
{E} > {c} and flag
n == 0 or {E} < {c}
"""),
    "k": ["0", "1", "2", "3", "-1", "-2", "step % 4", "n % 4", "(step + 1) % 4"],
    "r": ["0", "1", "2", "-1", "step % 3"],
    "j": ["[2, 0, 3, 1]", "[1, 2, 3, 0]", "np.argsort({v})", "[0, 0, 2, 3]"],
}
