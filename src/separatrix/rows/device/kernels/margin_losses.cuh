// The loss of a margin m, its first and its second derivative; see losses/margin.py.
#define LOGISTIC 0
#define SQUARED 1
#define SQUARED_HINGE 2
#define TANH_SQUARED 3
#define HINGE 4
#define PERCEPTRON 5

template <typename S> struct Margin {
    S value, slope, curvature;
};

template <typename S> __device__ inline Margin<S> margin_loss(S m) {
    Margin<S> at;
#if LOSS == LOGISTIC
    const S e = exp(-fabs(m)), one = S(1);
    at.value = (m > S(0) ? S(0) : -m) + log1p(e);
    at.slope = -(m > S(0) ? e : one) / (one + e);
    at.curvature = e / ((one + e) * (one + e));
#elif LOSS == SQUARED
    at.value = (S(1) - m) * (S(1) - m);
    at.slope = S(-2) * (S(1) - m);
    at.curvature = S(2);
#elif LOSS == SQUARED_HINGE
    const S left = m >= S(1) ? S(0) : S(1) - m;
    at.value = left * left;
    at.slope = S(-2) * left;
    at.curvature = m >= S(1) ? S(0) : S(2);
#elif LOSS == TANH_SQUARED
    const S size = m != m ? m : (fabs(m) < S(400) ? fabs(m) : S(400));
    const S e = exp(S(-2) * size);
    const S miss = S(2) * (m > S(0) ? e : S(1)) / (S(1) + e);
    const S rise = S(4) * e / ((S(1) + e) * (S(1) + e));
    at.value = miss * miss;
    at.slope = S(-2) * miss * rise;
    at.curvature = S(2) * rise * (rise + S(2) * miss * (S(1) - miss));
#elif LOSS == HINGE
    at.value = m >= S(1) ? S(0) : S(1) - m;
    at.slope = m >= S(1) ? S(0) : S(-1);
    at.curvature = S(0);
#else
    at.value = m > S(0) ? S(0) : -m;
    at.slope = m > S(0) ? S(0) : S(-1);
    at.curvature = S(0);
#endif
    return at;
}
