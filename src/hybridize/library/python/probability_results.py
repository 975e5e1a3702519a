"""What becomes of the objects of TensorFlow Probability that a traced function returns.

Measured with TensorFlow 2.15 and TensorFlow Probability 0.23, and with 2.21 and 0.25: each object was made and returned
by a function, eagerly and as a graph, and its class, shapes, parameters, samples, probabilities, and moments compared.
What survives comes back as a new object of its class with tensors in the place of numbers; its `name` gets a number,
attributes that were set are lost, and its variables have become tensors. Older releases were not measured: there
distributions are no composite tensors, and cannot be returned.
"""

from __future__ import annotations

from typing import Final

#: The oldest release of TensorFlow that was measured.
SINCE: Final = (2, 15)
PACKAGE: Final = "tensorflow_probability."

SURVIVES, RAISES, DIFFERS, UNKNOWN = "survives", "raises", "differs", "unknown"

#: Classes whose objects come back as they were, but for what is said above.
_SURVIVING: Final = {
    "bijectors": """
        AbsoluteValue Ascending Blockwise Chain CholeskyOuterProduct CholeskyToInvCholesky CorrelationCholesky
        Cumsum DiscreteCosineTransform Exp Expm1 FillScaleTriL FillTriangular FrechetCDF GeneralizedExtremeValueCDF
        GeneralizedPareto GompertzCDF GumbelCDF Householder Identity Invert IteratedSigmoidCentered JointMap
        KumaraswamyCDF LambertWTail Log Log1p MatrixInverseTriL MatvecLU MoyalCDF NormalCDF Pad Permute Power
        PowerTransform RationalQuadraticSpline RayleighCDF Reciprocal Reshape Restructure Scale ScaleMatvecDiag
        ScaleMatvecLU ScaleMatvecLinearOperator ScaleMatvecTriL Shift ShiftedGompertzCDF Sigmoid Sinh SinhArcsinh
        SoftClip Softfloor SoftmaxCentered Softplus Softsign Split Square Tanh TransformDiagonal Transpose
        UnitVector WeibullCDF
    """,
    "distributions": """
        BatchBroadcast BatchConcat BatchReshape Bates Bernoulli Beta BetaBinomial BetaQuotient Binomial Blockwise
        Categorical Cauchy Chi Chi2 CholeskyLKJ ContinuousBernoulli DeterminantalPointProcess Deterministic
        Dirichlet DirichletMultinomial DoublesidedMaxwell Empirical ExpGamma ExpInverseGamma
        ExpRelaxedOneHotCategorical Exponential ExponentiallyModifiedGaussian FiniteDiscrete Gamma GammaGamma
        GeneralizedExtremeValue GeneralizedNormal GeneralizedPareto Geometric Gumbel HalfCauchy HalfNormal
        HalfStudentT Horseshoe Independent Inflated InverseGamma InverseGaussian JohnsonSU
        JointDistributionCoroutine JointDistributionNamed JointDistributionNamedAutoBatched
        JointDistributionSequential JointDistributionSequentialAutoBatched Kumaraswamy LKJ LambertWDistribution
        LambertWNormal Laplace LogLogistic LogNormal Logistic LogitNormal Masked MatrixNormalLinearOperator Mixture
        MixtureSameFamily Moyal Multinomial MultivariateNormalDiag MultivariateNormalDiagPlusLowRank
        MultivariateNormalFullCovariance MultivariateNormalLinearOperator MultivariateNormalTriL
        MultivariateStudentTLinearOperator NegativeBinomial NoncentralChi2 Normal NormalInverseGaussian
        OneHotCategorical OrderedLogistic PERT Pareto PlackettLuce Poisson PowerSpherical ProbitBernoulli
        QuantizedDistribution RelaxedBernoulli RelaxedOneHotCategorical Sample SigmoidBeta SinhArcsinh Skellam
        SphericalUniform StoppingRatioLogistic StudentT TransformedDistribution Triangular TruncatedCauchy
        TruncatedNormal TwoPieceNormal TwoPieceStudentT Uniform VectorDeterministic VonMises VonMisesFisher Weibull
        WishartLinearOperator WishartTriL ZeroInflatedNegativeBinomial Zipf
    """,
    "math.psd_kernels": """
        Constant ExpSinSquared ExponentialCurve ExponentiatedQuadratic GammaExponential GeneralizedMatern Linear
        MaternFiveHalves MaternOneHalf MaternThreeHalves Parabolic Polynomial RationalQuadratic SpectralMixture
    """,
}
#: Classes whose objects raise where they are returned.
_REFUSED: Final = {
    "bijectors": "AutoregressiveNetwork BatchNormalization Bijector FFJORD MaskedAutoregressiveFlow RealNVP",
    "distributions": """
        Autoregressive Distribution HiddenMarkovModel LinearGaussianStateSpaceModel MarkovChain
        PoissonLogNormalQuadratureCompound
    """,
    "glm": """
        Bernoulli BernoulliNormalCDF Binomial CustomExponentialFamily ExponentialFamily GammaExp GammaSoftplus
        LogNormal LogNormalSoftplus NegativeBinomial NegativeBinomialSoftplus Normal NormalReciprocal Poisson
        PoissonSoftplus
    """,
    "math.psd_kernels": "PositiveSemidefiniteKernel",
    "mcmc": "HamiltonianMonteCarlo",
    "sts": """
        Autoregressive AutoregressiveIntegratedMovingAverage DynamicLinearRegression LinearRegression LocalLevel
        LocalLinearTrend Seasonal SemiLocalLinearTrend SmoothSeasonal SparseLinearRegression StructuralTimeSeries
        Sum
    """,
    "util": "TransformedVariable",
}
#: Classes whose objects come back, and fail or compute something else when they are used.
_CHANGED: Final = {
    "bijectors": "Inline",
    "distributions": "GaussianProcess GaussianProcessRegressionModel VariationalGaussianProcess",
}
#: Layers that give distributions which stand for tensors: a graph gives the tensors.
_COERCING: Final = frozenset(
    "DistributionLambda IndependentBernoulli IndependentLogistic IndependentNormal IndependentPoisson "
    "CategoricalMixtureOfOneHotCategorical MixtureLogistic MixtureNormal MixtureSameFamily MultivariateNormalTriL "
    "OneHotCategorical VariationalGaussianProcess AutoregressiveTransform".split()
)
_FATES: Final = {
    (module, name): fate
    for fate, table in ((SURVIVES, _SURVIVING), (RAISES, _REFUSED), (DIFFERS, _CHANGED))
    for module, names in table.items()
    for name in names.split()
}


def fate_of(cls: str) -> str:
    """What becomes of an object of a class, by its name, that a traced function returns."""
    module, name = _split(cls)
    return _FATES.get((module, name), UNKNOWN)


def coerces(cls: str) -> bool:
    """Whether a layer's results are distributions that stand for tensors."""
    module, name = _split(cls)
    return module == "layers" and name in _COERCING


def _split(cls: str) -> tuple[str, str]:
    """The public module and the name of a class: `tensorflow_probability.python.distributions.normal.Normal`, too."""
    path, _, name = cls.removeprefix(PACKAGE).removeprefix("python.").rpartition(".")
    known = next((m for m in ("math.psd_kernels",) if path.startswith(m)), path.partition(".")[0])
    return known, name
