"""Rules for functions of data in scipy.stats: means, moments and scores along an axis. Tests are refused."""

from scipy import stats

from adcompiler.rules.outside import present
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.moments import (
    entropy_bar,
    gmean_bar,
    hmean_bar,
    kurtosis_bar,
    pmean_bar,
    reference_bar,
    sem_bar,
    skew_bar,
    variation_bar,
    weight_bar,
    zscore_bar,
)
from adcompiler.runtime.pointwise import refuse_complex, refuse_parameters

# Means


@rrule(stats.gmean)
def gmean(a, axis=0, dtype=None, weights=None, *, keepdims=False):
    refuse_complex("gmean", (a, weights))
    y = stats.gmean(a, axis, dtype, weights, keepdims=keepdims)

    def pullback(y_bar):
        return (
            gmean_bar(y_bar, a, y, axis, weights, keepdims),
            None,
            None,
            weight_bar(y_bar, a, y, axis, weights, keepdims, 0.0),
            None,
        )

    return y, pullback


@rrule(stats.hmean)
def hmean(a, axis=0, dtype=None, *, weights=None, keepdims=False):
    refuse_complex("hmean", (a, weights))
    y = stats.hmean(a, axis, dtype, weights=weights, keepdims=keepdims)

    def pullback(y_bar):
        return (
            hmean_bar(y_bar, a, y, axis, weights, keepdims),
            None,
            None,
            weight_bar(y_bar, a, y, axis, weights, keepdims, -1.0),
            None,
        )

    return y, pullback


@rrule(stats.pmean)
def pmean(a, p, *, axis=0, dtype=None, weights=None, keepdims=False, needs):
    refuse_parameters("pmean", ("p",), ("it has no rule",), (p,), needs[1:2])
    refuse_complex("pmean", (a, weights))
    y = stats.pmean(a, p, axis=axis, dtype=dtype, weights=weights, keepdims=keepdims)

    def pullback(y_bar):
        return (
            pmean_bar(y_bar, a, y, axis, weights, keepdims, p),
            None,
            None,
            None,
            weight_bar(y_bar, a, y, axis, weights, keepdims, p),
            None,
        )

    return y, pullback


# Moments about the mean


@rrule(stats.sem)
def sem(a, axis=0, ddof=1, *, keepdims=False):
    refuse_complex("sem", (a,))
    y = stats.sem(a, axis, ddof, keepdims=keepdims)

    def pullback(y_bar):
        return sem_bar(y_bar, a, y, axis, ddof, keepdims), None, None, None

    return y, pullback


@rrule(stats.variation)
def variation(a, axis=0, *, ddof=0, keepdims=False):
    refuse_complex("variation", (a,))
    y = stats.variation(a, axis, ddof=ddof, keepdims=keepdims)

    def pullback(y_bar):
        return variation_bar(y_bar, a, y, axis, ddof, keepdims), None, None, None

    return y, pullback


@rrule(stats.skew)
def skew(a, axis=0, bias=True, *, keepdims=False):
    refuse_complex("skew", (a,))
    y = stats.skew(a, axis, bias, keepdims=keepdims)

    def pullback(y_bar):
        return skew_bar(y_bar, a, axis, bias, keepdims), None, None, None

    return y, pullback


@rrule(stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, *, keepdims=False):
    refuse_complex("kurtosis", (a,))
    y = stats.kurtosis(a, axis, fisher, bias, keepdims=keepdims)

    def pullback(y_bar):
        return kurtosis_bar(y_bar, a, axis, bias, keepdims), None, None, None, None

    return y, pullback


@rrule(stats.zscore, result="fresh", kind="like")
def zscore(a, axis=0, ddof=0):
    refuse_complex("zscore", (a,))
    y = stats.zscore(a, axis, ddof)

    def pullback(y_bar):
        return zscore_bar(y_bar, a, y, axis, ddof), None, None

    return y, pullback


# The entropy of one distribution, or of one against another


@rrule(stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, keepdims=False, needs):
    refuse_complex("entropy", (pk, qk))
    refuse_parameters("entropy", ("base",), ("it has no rule",), (base,), needs[2:3])
    y = stats.entropy(pk, qk, base, axis, keepdims=keepdims)

    def pullback(y_bar):
        return (
            entropy_bar(y_bar, pk, qk, y, base, axis, keepdims),
            reference_bar(y_bar, pk, qk, base, axis, keepdims),
            None,
            None,
            None,
        )

    return y, pullback


# Ranks and counts

non_differentiable(*present("rankdata relfreq cumfreq tiecorrect find_repeats mode", stats), kind="unknown")

# Other functions of data

refused(
    *present("pearsonr spearmanr kendalltau weightedtau pointbiserialr linregress theilslopes siegelslopes", stats),
    *present("somersd chatterjeexi spearmanrho", stats),
    why="It returns an object with a p-value, and orders or counts its data.\n"
    "Use np.corrcoef for a correlation, np.linalg.lstsq or np.polyfit for a line.",
)
refused(
    *present("iqr median_abs_deviation scoreatpercentile percentileofscore quantile trim_mean trimboth trim1", stats),
    *present("sigmaclip tmean tvar tstd tsem tmin tmax expectile", stats),
    why="It selects a part of its data.\n"
    "Use np.quantile, np.median or np.sort, and np.mean, np.var or np.std with where=, which have rules.",
)
refused(
    *present("moment lmoment kstat kstatvar describe bayes_mvs mvsdist gstd gzscore zmap", stats),
    *present("differential_entropy circmean circvar circstd directional_stats order_statistic", stats),
    *present("obrientransform", stats),
    why="It has no rule yet.\n"
    "Write the formula: np.mean((x - np.mean(x)) ** k) for a moment, scipy.special.entr and rel_entr for an entropy.",
)
refused(
    *present("boxcox boxcox_llf boxcox_normmax boxcox_normplot yeojohnson yeojohnson_llf yeojohnson_normmax", stats),
    *present("yeojohnson_normplot ppcc_max ppcc_plot probplot", stats),
    why="It searches for its parameter if that is not given.\nUse scipy.special.boxcox(x, lmbda), which has a rule.",
)
refused(
    *present("alexandergovern anderson anderson_ksamp ansari barnard_exact bartlett binomtest boschloo_exact", stats),
    *present("brunnermunzel bws_test chi2_contingency chisquare combine_pvalues cramervonmises", stats),
    *present("cramervonmises_2samp dunnett epps_singleton_2samp f_oneway false_discovery_control fisher_exact", stats),
    *present("fligner friedmanchisquare goodness_of_fit jarque_bera kruskal ks_1samp ks_2samp kstest", stats),
    *present("kurtosistest levene logrank mannwhitneyu median_test monte_carlo_test mood page_trend_test", stats),
    *present("multiscale_graphcorr normaltest permutation_test poisson_means_test power power_divergence", stats),
    *present("quantile_test ranksums shapiro skewtest tukey_hsd ttest_1samp ttest_ind ttest_rel wilcoxon", stats),
    *present("ttest_ind_from_stats", stats),
    why="It is a test: its result is an object with a p-value, often found by ranks, counts or resampling.\n"
    "Write the statistic itself with np.mean and np.std, which have rules.",
)
refused(
    *present("bootstrap fit ecdf energy_distance wasserstein_distance wasserstein_distance_nd sobol_indices", stats),
    *present("binned_statistic binned_statistic_2d binned_statistic_dd make_distribution truncate", stats),
    *present("abs exp log Binomial Logistic Mixture Normal Uniform Covariance CensoredData rv_histogram", stats),
    *present("gaussian_kde BootstrapMethod MonteCarloMethod PermutationMethod", stats),
    why="It draws, sorts, or makes an object that hides its numbers.\n"
    "Make it outside of the function, or write the formula with functions that have rules.",
)
