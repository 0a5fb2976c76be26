"""The functions of scipy.signal that have no derivative, or none here."""

from scipy import signal

from adcompiler.rules.registry import non_differentiable, refused

non_differentiable(
    signal.find_peaks,
    signal.find_peaks_cwt,
    signal.argrelextrema,
    signal.argrelmax,
    signal.argrelmin,
    kind="other",
)
refused(
    signal.filtfilt,
    signal.sosfiltfilt,
    signal.lfilter_zi,
    signal.lfiltic,
    why="The signal is extended and filtered twice, from states that depend on it.\n"
    "Call lfilter or sosfilt twice: np.flip(lfilter(b, a, np.flip(lfilter(b, a, x)))).",
)
refused(
    signal.decimate,
    signal.resample_poly,
    signal.upfirdn,
    why="It filters and leaves out samples in one step.\nUse convolve and a slice: convolve(x, h)[::q].",
)
refused(
    signal.welch,
    signal.periodogram,
    signal.csd,
    signal.coherence,
    signal.spectrogram,
    signal.stft,
    signal.istft,
    signal.lombscargle,
    why="A spectral estimate is made of segments, windows and transforms, and has no rule as a whole.\n"
    "Write it with numpy.fft.rfft and np.abs(...) ** 2.",
)
refused(
    signal.medfilt,
    signal.medfilt2d,
    signal.order_filter,
    signal.wiener,
    why="It has no rule here.\nUse scipy.ndimage.median_filter.",
)
refused(
    signal.deconvolve,
    signal.savgol_coeffs,
    signal.hilbert2,
    signal.sepfir2d,
    signal.symiirorder1,
    signal.symiirorder2,
    signal.cspline1d,
    signal.qspline1d,
    signal.spline_filter,
    signal.czt,
    signal.zoom_fft,
    signal.freqz,
    signal.residue,
    why="It has no rule here.\nUse convolve, lfilter, or the functions of numpy.fft and numpy.polynomial.",
)
refused(
    signal.butter,
    signal.cheby1,
    signal.cheby2,
    signal.ellip,
    signal.bessel,
    signal.iirfilter,
    signal.firwin,
    signal.firls,
    signal.remez,
    signal.get_window,
    why="The design of a filter depends on its parameters by poles, zeros and tables, and has no rule.\n"
    "Use stop_gradient() of the parameters, or optimise the coefficients themselves.",
)
