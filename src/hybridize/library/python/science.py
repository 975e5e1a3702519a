"""Numerical packages whose values are arrays: scipy, scikit-learn, scikit-image, numexpr, sparse matrices."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    FLOAT_V,
    INT_V,
    NONE_V,
    STR_V,
    Container,
    LibInst,
    Tensor,
    Value,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import NDARRAY, UNRESOLVED
from hybridize.library.convert import dim_of
from hybridize.library.python.rules import (
    ARRAY_V,
    array,
    call_back,
    functions_in,
    give,
    instance,
    integer,
    iterator_of,
    itself,
    listed,
    methods,
    nothing,
    number,
    opaque,
    properties,
    remember,
    same,
    table,
    text,
    text_dict,
    truth,
)
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

_ARRAY_OR_FLOAT: Final = join(ARRAY_V, FLOAT_V)
_arrays: Final = give(tup([ARRAY_V, ARRAY_V]).value)
_three: Final = give(tup([ARRAY_V, ARRAY_V, ARRAY_V]).value)
_either: Final = give(_ARRAY_OR_FLOAT)


def sampled(value: Value) -> Value:
    """Some of the rows of arrays: everything but the first dim stays."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tensor):
            shape = None if not obj.shape else (UNRESOLVED, *obj.shape[1:])
            result = join(result, tensor(NDARRAY, obj.dtype if obj.kind == NDARRAY else None, shape).value)
        elif isinstance(obj, (LibInst, Container)):
            result = join(result, obj.value)
        else:
            result = join(result, unknown("a part of split data").value)
    return result


def _random_unless_seeded(call: Call) -> None:
    if call.kwargs.get("random_state", NONE_V) & NONE_V and call.constant(-1, "shuffle", True) is not False:
        call.effect("random", call.name)


def _split(call: Call) -> Value:
    """`train_test_split(x, y)`: a list of twice as many parts as arguments."""
    _random_unless_seeded(call)
    if call.rest or not call.args:
        return call.list_of(sampled(call.every()))
    made = call.new("list", "split")
    for i, value in enumerate(call.args):
        part = _fresh_lists(call, sampled(value))
        call.write(made.cell(2 * i), part)
        call.write(made.cell(2 * i + 1), part)
    return made.value


def _fresh_lists(call: Call, value: Value) -> Value:
    lists = frozenset(o for o in value if isinstance(o, Container))
    if not lists:
        return value
    return join(value - lists, call.list_of(call.elements(lists), "list", "part"))


def _shuffled(call: Call) -> Value:
    _random_unless_seeded(call)
    parts = [_fresh_lists(call, sampled(value)) for value in call.args]
    return parts[0] if len(parts) == 1 else call.list_of(join(BOTTOM, call.every())) if call.rest else tup(parts).value


def _called(result: Rule) -> Rule:
    """A solver: calls the functions it is given with arrays."""

    def rule(call: Call) -> Value:
        for value in (*call.args, *call.kwargs.values()):
            for obj in functions_in(value):
                count = len(getattr(getattr(obj, "code", None), "params", ())) or 1
                call_back(call, obj.value, *[_ARRAY_OR_FLOAT] * min(count, 6))
        return result(call)

    return rule


def _fold(call: Call) -> Value:
    return iterator_of(call, tup([ARRAY_V, ARRAY_V]).value)


def _fitted(call: Call) -> Value:
    remember(call, "fitted", NONE_V)
    return call.receiver.value if call.receiver is not None else BOTTOM


_optimum: Final = _called(instance("scipy.optimize.OptimizeResult"))

# scipy ---------------------------------------------------------------------------------------------------------------

_SPECIAL: Final = (
    "expit logit logsumexp softmax log_softmax gamma gammaln digamma polygamma beta betaln erf erfc erfinv "
    "erfcinv comb "
    "factorial binom iv ive jv yv kv xlogy xlog1py entr ndtr ndtri log_ndtr gammainc gammaincc betainc zeta psi "
    "multigammaln sph_harm lpmv eval_legendre i0 i1 k0 k1 hyp1f1 hyp2f1 rel_entr kl_div exprel perm"
)
_DISTRIBUTIONS: Final = (
    "norm uniform expon gamma beta t chi2 f lognorm poisson binom bernoulli geom truncnorm multivariate_normal laplace "
    "logistic cauchy pareto dirichlet wishart invgamma halfnorm rayleigh vonmises randint nbinom multinomial gumbel_r"
)
_ONE_ARRAY: Final = {
    "scipy.linalg": "inv pinv det expm logm sqrtm norm solve solve_triangular cholesky cho_solve block_diag toeplitz "
    "circulant hadamard hankel kron eigvals eigvalsh svdvals null_space orth solve_toeplitz dft companion helmert",
    "scipy.ndimage": "gaussian_filter zoom rotate shift affine_transform map_coordinates convolve convolve1d correlate "
    "median_filter uniform_filter maximum_filter minimum_filter gaussian_filter1d binary_dilation binary_erosion "
    "binary_fill_holes binary_closing binary_opening distance_transform_edt sobel laplace geometric_transform "
    "grey_dilation grey_erosion center_of_mass mean sum maximum minimum",
    "scipy.signal": "convolve convolve2d fftconvolve correlate correlate2d filtfilt lfilter resample resample_poly "
    "decimate medfilt savgol_filter hilbert detrend windows.hann windows.gaussian windows.hamming gaussian hann "
    "get_window "
    "firwin sosfilt wiener upfirdn oaconvolve chirp square sawtooth unit_impulse",
    "scipy.fft": "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 dct idct dctn idctn fftfreq rfftfreq fftshift "
    "ifftshift",
    "scipy.fftpack": "fft ifft fft2 ifft2 fftn ifftn rfft irfft dct idct fftfreq fftshift ifftshift dst idst",
    "scipy.spatial.distance": "cdist pdist squareform",
    "scipy.misc": "imresize imread face ascent imrotate",
    "scipy.interpolate": "griddata interpn splev pchip_interpolate",
    "scipy.stats": "zscore rankdata gmean hmean skew kurtosis sem trim_mean iqr mstats.winsorize",
    "scipy.cluster.vq": "whiten",
    "scipy.cluster.hierarchy": "linkage fcluster",
}
_DISTANCES: Final = (
    "cosine euclidean cityblock hamming jaccard correlation chebyshev canberra braycurtis "
    "mahalanobis minkowski sqeuclidean"
)
_TESTS: Final = (
    "pearsonr spearmanr kendalltau ttest_ind ttest_rel ttest_1samp wilcoxon mannwhitneyu ks_2samp kstest "
    "chi2_contingency "
    "shapiro normaltest f_oneway friedmanchisquare levene bartlett"
)
_test_result: Final = give(tup([FLOAT_V, FLOAT_V], "tuple", ("statistic", "pvalue")).value)
_DISTRIBUTION: Final = ClassSpec(
    methods={
        **methods(
            "pdf logpdf pmf logpmf cdf logcdf ppf sf isf entropy mean var std median moment stats interval fit", _either
        ),
        **methods("rvs", array, "random"),
        **methods("freeze", itself),
    },
)
_SPARSE: Final = ClassSpec(
    methods={
        **methods("toarray todense dot getnnz diagonal sum mean max min multiply", array),
        **methods(
            "tocoo tocsr tocsc tolil todok asformat astype copy transpose T getrow getcol power eliminate_zeros", itself
        ),
        **methods("nonzero", _arrays),
        **methods("sort_indices sum_duplicates setdiag resize", nothing, "mutate"),
        "__getitem__": Spec(itself),
        "__len__": Spec(integer),
    },
    properties={
        **properties("data row col indices indptr", array),
        "shape": give(tup([INT_V, INT_V]).value),
        "nnz": integer,
        "T": itself,
        "A": array,
        "dtype": opaque,
        "ndim": integer,
    },
)
_SPARSE_CLASSES: Final = (
    "csr_matrix csc_matrix coo_matrix lil_matrix dok_matrix bsr_matrix dia_matrix csr_array coo_array"
)
_SPARSE_MAKERS: Final = "eye diags identity random rand hstack vstack block_diag kron bmat load_npz spdiags tril triu"


def _distribution_functions() -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for name in _DISTRIBUTIONS.split():
        for method, spec in _DISTRIBUTION.methods.items():
            found[f"scipy.stats.{name}.{method}"] = (
                spec if method != "freeze" else Spec(instance("scipy.stats.Distribution"))
            )
        found[f"scipy.stats.{name}"] = Spec(instance("scipy.stats.Distribution"))
    return found


# scikit-learn --------------------------------------------------------------------------------------------------------

_ESTIMATOR: Final = ClassSpec(
    methods={
        **methods("fit partial_fit", _fitted, "mutate"),
        **methods("fit_transform fit_predict", array, "mutate"),
        **methods(
            "transform inverse_transform predict predict_proba predict_log_proba decision_function score_samples "
            "kneighbors_graph apply embedding_",
            array,
        ),
        **methods("score", number),
        "kneighbors": Spec(_arrays),
        **methods("get_params get_feature_names get_feature_names_out", text_dict),
        **methods("set_params", itself, "mutate"),
        **methods("sample", array, "random"),
        "split": Spec(_fold),
        "get_n_splits": Spec(integer),
        "__init__": Spec(nothing),
    },
    properties={
        **properties(
            "components_ mean_ scale_ var_ coef_ intercept_ classes_ labels_ cluster_centers_ data_min_ data_max_ "
            "explained_variance_ratio_ feature_importances_ singular_values_ means_ covariances_ weights_ categories_ "
            "support_vectors_",
            array,
        ),
        **properties("n_features_in_ n_clusters n_components", integer),
        "vocabulary_": lambda call: text_dict(call, INT_V),
        "best_params_": text_dict,
        "best_score_": number,
        "best_estimator_": itself,
    },
)
_ESTIMATORS: Final = {
    "preprocessing": "StandardScaler MinMaxScaler RobustScaler MaxAbsScaler Normalizer LabelEncoder "
    "OneHotEncoder LabelBinarizer "
    "MultiLabelBinarizer OrdinalEncoder PolynomialFeatures QuantileTransformer PowerTransformer Binarizer "
    "KBinsDiscretizer "
    "FunctionTransformer",
    "decomposition": "PCA TruncatedSVD NMF FastICA KernelPCA IncrementalPCA FactorAnalysis "
    "LatentDirichletAllocation SparsePCA",
    "manifold": "TSNE MDS Isomap LocallyLinearEmbedding SpectralEmbedding",
    "cluster": "KMeans MiniBatchKMeans DBSCAN AgglomerativeClustering SpectralClustering MeanShift Birch",
    "linear_model": "LogisticRegression LinearRegression Ridge Lasso ElasticNet SGDClassifier SGDRegressor "
    "RidgeClassifier "
    "BayesianRidge Perceptron HuberRegressor",
    "ensemble": "RandomForestClassifier RandomForestRegressor GradientBoostingClassifier GradientBoostingRegressor "
    "AdaBoostClassifier ExtraTreesClassifier VotingClassifier IsolationForest BaggingClassifier ExtraTreesRegressor",
    "svm": "SVC SVR LinearSVC LinearSVR OneClassSVM NuSVC",
    "tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "naive_bayes": "GaussianNB MultinomialNB BernoulliNB",
    "neighbors": "KNeighborsClassifier KNeighborsRegressor NearestNeighbors KDTree BallTree KernelDensity "
    "LocalOutlierFactor",
    "mixture": "GaussianMixture BayesianGaussianMixture",
    "neural_network": "MLPClassifier MLPRegressor BernoulliRBM",
    "gaussian_process": "GaussianProcessRegressor GaussianProcessClassifier",
    "feature_extraction.text": "TfidfVectorizer CountVectorizer TfidfTransformer HashingVectorizer",
    "feature_extraction": "DictVectorizer FeatureHasher",
    "feature_selection": "SelectKBest RFE VarianceThreshold SelectFromModel",
    "impute": "SimpleImputer KNNImputer",
    "pipeline": "Pipeline FeatureUnion",
    "compose": "ColumnTransformer",
    "model_selection": "KFold StratifiedKFold GridSearchCV RandomizedSearchCV ShuffleSplit "
    "StratifiedShuffleSplit GroupKFold "
    "TimeSeriesSplit LeaveOneOut RepeatedKFold",
    "discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "dummy": "DummyClassifier DummyRegressor",
    "multiclass": "OneVsRestClassifier OneVsOneClassifier",
    "calibration": "CalibratedClassifierCV",
    "base": "BaseEstimator ClassifierMixin RegressorMixin TransformerMixin ClusterMixin",
}
_METRICS: Final = (
    "accuracy_score balanced_accuracy_score roc_auc_score average_precision_score log_loss mean_squared_error "
    "mean_absolute_error r2_score cohen_kappa_score matthews_corrcoef hamming_loss zero_one_loss "
    "explained_variance_score "
    "median_absolute_error adjusted_rand_score normalized_mutual_info_score silhouette_score auc brier_score_loss "
    "mean_squared_log_error ndcg_score dcg_score top_k_accuracy_score mutual_info_score v_measure_score max_error "
    "root_mean_squared_error label_ranking_average_precision_score coverage_error"
)
_PER_CLASS: Final = "precision_score recall_score f1_score fbeta_score jaccard_score"
_DATA_SETS: Final = (
    "load_iris load_digits load_boston load_breast_cancer load_diabetes load_wine fetch_california_housing"
)
_FETCHED: Final = "fetch_openml fetch_20newsgroups fetch_olivetti_faces fetch_lfw_people fetch_covtype"
_GENERATED: Final = (
    "make_blobs make_moons make_circles make_classification make_regression make_swiss_roll make_s_curve"
)


def _hypercube(call: Call) -> Value:
    """As many points as are asked for, else one for each dim."""
    columns, asked = dim_of(call.arg(0, "n") or BOTTOM), call.arg(1, "samples")
    rows = columns if asked is None or asked == NONE_V else dim_of(asked)
    return tensor(NDARRAY, "float64", (max(rows, UNRESOLVED), max(columns, UNRESOLVED))).value


def _data_set(call: Call) -> Value:
    if call.constant(-1, "return_X_y") is True:
        return tup([ARRAY_V, ARRAY_V]).value
    return instance("sklearn.utils.Bunch")(call)


FUNCTIONS: Final[dict[str, Spec]] = {
    **table("scipy.special", _SPECIAL, _either),
    **{f"{m}.{n}": Spec(array) for m, names in _ONE_ARRAY.items() for n in names.split()},
    **table("scipy.linalg", "eig eigh qr lu_factor cho_factor polar", _arrays),
    **table("scipy.linalg", "svd lu schur", _three),
    "scipy.linalg.lstsq": Spec(opaque),
    **table("scipy.spatial.distance", _DISTANCES, number),
    **_distribution_functions(),
    **table("scipy.stats", _TESTS, _test_result),
    **table("scipy.stats", "entropy wasserstein_distance differential_entropy", _either),
    **table("scipy.stats", "mode describe linregress probplot boxcox", opaque),
    **table("scipy.stats", "ortho_group.rvs special_ortho_group.rvs unitary_group.rvs", array, "random"),
    **table(
        "scipy.optimize",
        "minimize minimize_scalar least_squares root root_scalar differential_evolution basinhopping "
        "dual_annealing linprog milp shgo",
        _optimum,
    ),
    **table("scipy.optimize", "fmin fmin_l_bfgs_b fmin_bfgs fmin_cg fsolve brentq bisect newton nnls", _called(opaque)),
    **table("scipy.optimize", "curve_fit linear_sum_assignment", _called(_arrays)),
    **table("scipy.optimize", "approx_fprime check_grad", _called(array)),
    **table("scipy.integrate", "quad dblquad nquad", _called(give(tup([FLOAT_V, FLOAT_V]).value))),
    **table("scipy.integrate", "odeint", _called(array)),
    **table("scipy.integrate", "solve_ivp", _called(opaque)),
    **table("scipy.integrate", "simps simpson trapz trapezoid cumtrapz cumulative_trapezoid", _either),
    **table("scipy.ndimage", "label", give(tup([ARRAY_V, INT_V]).value)),
    **table("scipy.ndimage", "find_objects", opaque),
    **table("scipy.signal", "butter cheby1 freqz stft welch periodogram find_peaks iirfilter", _arrays),
    **table("scipy.signal", "istft spectrogram", _three),
    **table("scipy.interpolate", "splrep", opaque),
    **table("scipy.io", "loadmat", text_dict, "io"),
    **table("scipy.io", "savemat", nothing, "io"),
    "scipy.io.wavfile.read": Spec(give(tup([INT_V, ARRAY_V]).value), effects=("io",)),
    "scipy.io.wavfile.write": Spec(nothing, effects=("io",)),
    **table("scipy.misc", "imsave", nothing, "io"),
    **table("scipy.sparse", _SPARSE_MAKERS, instance("scipy.sparse.csr_matrix")),
    **table("scipy.sparse", "issparse isspmatrix", truth),
    "scipy.sparse.save_npz": Spec(nothing, effects=("io",)),
    **table("scipy.sparse.linalg", "eigsh eigs", _arrays),
    **table("scipy.sparse.linalg", "svds", _three),
    **table("scipy.sparse.linalg", "spsolve inv expm norm", array),
    **table("scipy.cluster.vq", "kmeans kmeans2 vq", _arrays, "random"),
    # scikit-learn
    "sklearn.model_selection.train_test_split": Spec(_split),
    "sklearn.utils.shuffle": Spec(_shuffled),
    "sklearn.utils.resample": Spec(_shuffled),
    "sklearn.model_selection.cross_val_score": Spec(array, effects=("unknown_call",)),
    "sklearn.model_selection.cross_val_predict": Spec(array, effects=("unknown_call",)),
    "sklearn.model_selection.ParameterGrid": Spec(
        lambda call: call.list_of(text_dict(call, unknown("a setting").value))
    ),
    **table("sklearn.metrics", _METRICS, number),
    **table("sklearn.metrics", _PER_CLASS, _either),
    **table("sklearn.metrics", "roc_curve precision_recall_curve", _three),
    "sklearn.metrics.precision_recall_fscore_support": Spec(give(tup([_ARRAY_OR_FLOAT] * 4).value)),
    "sklearn.metrics.classification_report": Spec(give(join(STR_V, unknown("a classification report").value))),
    **table(
        "sklearn.metrics",
        "confusion_matrix multilabel_confusion_matrix pairwise_distances pairwise.cosine_similarity "
        "pairwise.euclidean_distances pairwise.rbf_kernel pairwise.pairwise_distances pairwise.linear_kernel",
        array,
    ),
    **table("sklearn.preprocessing", "normalize scale minmax_scale label_binarize binarize robust_scale", array),
    **table("sklearn.feature_selection", "mutual_info_classif mutual_info_regression", array),
    **table("sklearn.datasets", _DATA_SETS, _data_set),
    **table("sklearn.datasets", _FETCHED, _data_set, "io"),
    **table("sklearn.datasets", _GENERATED, _arrays, "random"),
    **table("sklearn.utils.class_weight", "compute_class_weight compute_sample_weight", array),
    "sklearn.utils.check_random_state": Spec(opaque),
    "sklearn.base.clone": Spec(same),
    **table("sklearn.pipeline", "make_pipeline make_union", instance("sklearn.pipeline.Pipeline")),
    "sklearn.utils.validation.check_is_fitted": Spec(nothing),
    **table("sklearn.utils", "check_array", array),
    **table("sklearn.metrics", "make_scorer", opaque),
    **{f"{package}.lhs": Spec(_hypercube, effects=("random",)) for package in ("pyDOE", "pyDOE2")},
}
CLASSES: Final[dict[str, ClassSpec]] = {
    **{f"scipy.sparse.{name}": _SPARSE for name in _SPARSE_CLASSES.split()},
    "scipy.stats.Distribution": _DISTRIBUTION,
    "scipy.stats.gaussian_kde": ClassSpec(
        methods={**methods("pdf evaluate logpdf", array), "resample": Spec(array, effects=("random",))},
        call=Spec(array),
    ),
    "scipy.optimize.OptimizeResult": ClassSpec(
        properties={
            **properties("x jac hess_inv", array),
            "fun": give(_ARRAY_OR_FLOAT),
            "success": truth,
            "message": text,
            **properties("nit nfev status", integer),
        }
    ),
    **{
        f"scipy.interpolate.{name}": ClassSpec(call=Spec(array))
        for name in (
            "interp1d",
            "interp2d",
            "CubicSpline",
            "UnivariateSpline",
            "RegularGridInterpolator",
            "RectBivariateSpline",
            "Rbf",
            "InterpolatedUnivariateSpline",
            "PchipInterpolator",
            "RBFInterpolator",
            "LinearNDInterpolator",
        )
    },
    **{
        f"scipy.spatial.{name}": ClassSpec(
            methods={"query": Spec(_arrays), "query_ball_point": Spec(listed(INT_V))},
            properties={**properties("vertices simplices points", array), **properties("volume area", number)},
        )
        for name in ("cKDTree", "KDTree", "ConvexHull", "Delaunay", "Voronoi")
    },
    "scipy.spatial.transform.Rotation": ClassSpec(
        methods=methods("as_matrix as_quat as_euler as_rotvec apply as_dcm", array)
    ),
    **{f"sklearn.{m}.{n}": _ESTIMATOR for m, names in _ESTIMATORS.items() for n in names.split()},
    "sklearn.utils.Bunch": ClassSpec(
        methods={"__getitem__": Spec(array)},
        properties={
            **properties("data target images frame", array),
            "feature_names": listed(STR_V),
            "target_names": give(stream("tuple", STR_V).value),
            "DESCR": text,
        },
    ),
}
