// One struct per compiled loss: value, slope and curvature at the margin m, for a number or
// for a vector of numbers. Conditions are written so that a NaN margin gives a NaN value.
//
// At the kinks: perceptron's slope at 0 is -1, hinge's at 1 is 0 (see losses/margin.py).
#pragma once
#include "abi/table.hpp"
#include "simd/exp.hpp"

namespace separatrix::SEPARATRIX_LEVEL {

template <class T>
struct Point {
  T value, slope, curvature;
};

// A loss that needs an exponential says of which number; `at` receives it. Exponentials of many
// margins are computed in a loop of their own, in which none waits for the operations after it.
struct NoExponential {
  static constexpr bool kExponential = false;
};

struct Perceptron : NoExponential {
  template <class T>
  static Point<T> at(T m) {
    const T zero = splat<T>(0.0);
    return {select(m > 0.0, zero, -m), select(m > 0.0, zero, splat<T>(-1.0)), zero};
  }
};

struct Logistic {
  static constexpr bool kExponential = true;
  template <class T>
  static T exponent(T m) {
    return select(m > 0.0, -m, m);
  }
  template <class T>
  static Point<T> at(T m, T e) {
    // Both quotients from one division, the slowest of all operations.
    const T inverse = 1.0 / ((1.0 + e) * (2.0 + e));
    const T share = (2.0 + e) * inverse;                        // 1 / (1 + e)
    const T log = twice_artanh(e * ((1.0 + e) * inverse));      // log(1 + e)
    return {select(m > 0.0, splat<T>(0.0), -m) + log,
            -select(m > 0.0, e * share, share), e * share * share};
  }
};

struct Squared : NoExponential {
  template <class T>
  static Point<T> at(T m) {
    const T miss = 1.0 - m;
    return {miss * miss, -2.0 * miss, splat<T>(2.0)};
  }
};

struct TanhSquared {
  static constexpr bool kExponential = true;
  template <class T>
  static T exponent(T m) {
    return select(m > 0.0, -2.0 * m, 2.0 * m);
  }
  template <class T>
  static Point<T> at(T m, T e) {
    const T share = 1.0 / (1.0 + e);
    const T miss = 2.0 * select(m > 0.0, e * share, share);  // 1 - tanh m
    const T slope = 4.0 * e * share * share;                 // of tanh: 1 - tanh^2 m
    return {miss * miss, -2.0 * miss * slope, 2.0 * slope * (slope + 2.0 * miss * (1.0 - miss))};
  }
};

struct Hinge : NoExponential {
  template <class T>
  static Point<T> at(T m) {
    const T zero = splat<T>(0.0);
    return {select(m >= 1.0, zero, 1.0 - m), select(m >= 1.0, zero, splat<T>(-1.0)), zero};
  }
};

struct SquaredHinge : NoExponential {
  template <class T>
  static Point<T> at(T m) {
    const T zero = splat<T>(0.0);
    const T miss = select(m >= 1.0, zero, 1.0 - m);
    return {miss * miss, -2.0 * miss, select(m >= 1.0, zero, splat<T>(2.0))};
  }
};

template <class Loss>
inline Point<double> point_at(double m) {
  if constexpr (Loss::kExponential) return Loss::at(m, exp_negative(Loss::exponent(m)));
  else return Loss::at(m);
}

// Calls f with the loss that the id names.
template <class F>
inline void with_loss(int id, F&& f) {
  switch (LossId(id)) {
    case LossId::perceptron: return f(Perceptron{});
    case LossId::logistic: return f(Logistic{});
    case LossId::squared: return f(Squared{});
    case LossId::tanh_squared: return f(TanhSquared{});
    case LossId::hinge: return f(Hinge{});
    case LossId::squared_hinge: return f(SquaredHinge{});
  }
}

}  // namespace separatrix::SEPARATRIX_LEVEL
