"""The functions of scipy.signal that have no derivative, or none here."""

from scipy import signal

from adcompiler.rules.names import existing
from adcompiler.rules.registry import non_differentiable, refused

non_differentiable(
    signal.find_peaks,
    signal.find_peaks_cwt,
    signal.argrelextrema,
    signal.argrelmax,
    signal.argrelmin,
    *existing(signal, "peak_prominences peak_widths"),
    *existing(signal, "buttord cheb1ord cheb2ord ellipord kaiserord choose_conv_method check_COLA check_NOLA test"),
    *existing(signal, "max_len_seq unit_impulse correlation_lags"),
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
    *existing(signal, "firwin2 firwin_2d iirdesign iirnotch iirpeak iircomb gammatone minimum_phase group_delay"),
    *existing(signal, "buttap cheb1ap cheb2ap ellipap besselap kaiser_atten kaiser_beta band_stop_obj"),
    *existing(signal, "closest_STFT_dual_window"),
    why="The design of a filter depends on its parameters by poles, zeros and tables, and has no rule.\n"
    "Use stop_gradient() of the parameters, or optimise the coefficients themselves.",
)
refused(
    *existing(signal, "StateSpace TransferFunction ZerosPolesGain lti dlti ShortTimeFFT CZT ZoomFFT place_poles"),
    *existing(signal, "lsim dlsim impulse dimpulse step dstep bode dbode freqresp dfreqresp cont2discrete"),
    *existing(signal, "freqs freqs_zpk freqz_sos freqz_zpk sosfreqz findfreqs abcd_normalize normalize czt_points"),
    *existing(signal, "bilinear bilinear_zpk lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk"),
    *existing(signal, "sos2tf sos2zpk ss2tf ss2zpk tf2sos tf2ss tf2zpk zpk2sos zpk2ss zpk2tf sosfilt_zi"),
    *existing(signal, "residuez invres invresz unique_roots"),
    why="Systems and their representations are found from roots and by the order of these, and have no rule.\n"
    "Write the response with numpy: np.polyval(b, s) / np.polyval(a, s).",
)
refused(
    *existing(signal, "chirp gausspulse sawtooth square sweep_poly gauss_spline cspline1d_eval qspline1d_eval"),
    *existing(signal, "cspline2d qspline2d envelope vectorstrength"),
    why="It has no rule here.\nWrite the wave or the spline with NumPy's functions.",
)
