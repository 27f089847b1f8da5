// The yardstick of ./dev bench: palimpsa, forward and backward, as a competent
// programmer writes it by hand. Plain loops over [B, T, H, ..] tensors; the
// compiler is left to vectorise them (-O3 -march=native -ffast-math).
// bench.py compiles this with every compiler present and calls it by ctypes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

struct Sizes {
  int64_t B, T, H, K, V;
};

struct Inputs {
  const float *q, *k, *v, *g, *beta;
};

struct Gradients {
  float *q, *k, *v, *g, *beta;
};

constexpr int64_t chunk = 32;

// Runs body(b, h) for all pairs on `threads` threads.
template <typename Body>
void parallel(const Sizes &s, int threads, Body body) {
  std::vector<std::thread> pool;
  int64_t total = s.B * s.H;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([=] {
      for (int64_t n = total * i / threads; n < total * (i + 1) / threads;
           ++n) {
        body(n / s.H, n % s.H);
      }
    });
  }
  for (std::thread &thread : pool) {
    thread.join();
  }
}

// The inputs of one token and head.
struct Token {
  const float *q, *k, *v, *beta;
  float decay;

  Token(const Sizes &s, const Inputs &in, int64_t b, int64_t t, int64_t h) {
    int64_t row = (b * s.T + t) * s.H + h;
    q = in.q + row * s.K;
    k = in.k + row * s.K;
    v = in.v + row * s.V;
    beta = in.beta + row * s.V;
    decay = std::exp(in.g[row]);
  }
};

// M = a M + k v^T, J = a J + k^2 beta^T; from `from` to `to`.
void update(const Sizes &s, const Token &x, const float *fromM,
            const float *fromJ, float *toM, float *toJ) {
  for (int64_t i = 0; i < s.K; ++i) {
    float k = x.k[i], k2 = k * k;
    for (int64_t j = 0; j < s.V; ++j) {
      int64_t n = i * s.V + j;
      toM[n] = x.decay * fromM[n] + k * x.v[j];
      toJ[n] = x.decay * fromJ[n] + k2 * x.beta[j];
    }
  }
}

void forwardHead(const Sizes &s, const Inputs &in, float scale, int64_t b,
                 int64_t h, float *o) {
  std::vector<float> m(s.K * s.V), jj(s.K * s.V);
  float *__restrict M = m.data(), *__restrict J = jj.data();
  for (int64_t t = 0; t < s.T; ++t) {
    Token x(s, in, b, t, h);
    float *__restrict out = o + ((b * s.T + t) * s.H + h) * s.V;
    std::fill(out, out + s.V, 0.f);
    for (int64_t i = 0; i < s.K; ++i) {
      float k = x.k[i], k2 = k * k, q = scale * x.q[i];
      for (int64_t j = 0; j < s.V; ++j) {
        int64_t n = i * s.V + j;
        M[n] = x.decay * M[n] + k * x.v[j];
        J[n] = x.decay * J[n] + k2 * x.beta[j];
        out[j] += q * M[n] / (J[n] + 1.f);
      }
    }
  }
}

// One token of the reverse walk. U, W: cotangents of M, J after the token on
// entry, before it on return. The states are those before and after the token.
struct Reverse {
  const float *oldM, *oldJ, *M, *J;
  float *__restrict U, *__restrict W;
};

void reverseToken(const Sizes &s, const Token &x, float scale, const float *dO,
                  const Reverse &r, int64_t row, const Gradients &out) {
  float *__restrict dv = out.v + row * s.V;
  float *__restrict dbeta = out.beta + row * s.V;
  float dDecay = 0;
  for (int64_t i = 0; i < s.K; ++i) {
    float k = x.k[i], k2 = k * k, q = scale * x.q[i];
    float dq = 0, dkM = 0, dkJ = 0;
    for (int64_t j = 0; j < s.V; ++j) {
      int64_t n = i * s.V + j;
      float inverse = 1.f / (r.J[n] + 1.f), mu = r.M[n] * inverse;
      float grad = q * dO[j] * inverse;
      float u = r.U[n] + grad, w = r.W[n] - grad * mu;
      dq += dO[j] * mu;
      dkM += u * x.v[j];
      dkJ += w * x.beta[j];
      dv[j] += u * k;
      dbeta[j] += w * k2;
      dDecay += u * r.oldM[n] + w * r.oldJ[n];
      r.U[n] = x.decay * u;
      r.W[n] = x.decay * w;
    }
    out.q[row * s.K + i] = scale * dq;
    out.k[row * s.K + i] = dkM + 2 * k * dkJ;
  }
  out.g[row] = x.decay * dDecay;
}

// States at every chunk's start are stored by a first walk; each chunk's own
// states are computed again and kept while the chunk is walked backward.
void backwardHead(const Sizes &s, const Inputs &in, float scale,
                  const float *dO, int64_t b, int64_t h, const Gradients &out) {
  int64_t size = s.K * s.V, chunks = (s.T + chunk - 1) / chunk;
  std::vector<float> starts(2 * size * chunks), local(2 * size * (chunk + 1));
  std::vector<float> U(size), W(size), state(2 * size);
  for (int64_t t = 0; t < s.T; ++t) {
    if (t % chunk == 0) {
      std::copy(state.begin(), state.end(),
                starts.begin() + 2 * size * (t / chunk));
    }
    update(s, Token(s, in, b, t, h), state.data(), state.data() + size,
           state.data(), state.data() + size);
  }
  for (int64_t c = chunks - 1; c >= 0; --c) {
    int64_t first = c * chunk, count = std::min(chunk, s.T - first);
    std::copy_n(starts.begin() + 2 * size * c, 2 * size, local.begin());
    for (int64_t i = 0; i < count; ++i) {
      float *from = local.data() + 2 * size * i, *to = from + 2 * size;
      update(s, Token(s, in, b, first + i, h), from, from + size, to,
             to + size);
    }
    for (int64_t i = count - 1; i >= 0; --i) {
      const float *old = local.data() + 2 * size * i, *now = old + 2 * size;
      int64_t row = (b * s.T + first + i) * s.H + h;
      reverseToken(s, Token(s, in, b, first + i, h), scale, dO + row * s.V,
                   {old, old + size, now, now + size, U.data(), W.data()}, row,
                   out);
    }
  }
}

} // namespace

extern "C" {

void loop_forward(const Sizes *sizes, const Inputs *in, int threads, float *o) {
  float scale = 1.f / std::sqrt(float(sizes->K));
  parallel(*sizes, threads, [=](int64_t b, int64_t h) {
    forwardHead(*sizes, *in, scale, b, h, o);
  });
}

void loop_backward(const Sizes *sizes, const Inputs *in, const float *dO,
                   int threads, const Gradients *out) {
  Sizes s = *sizes;
  float scale = 1.f / std::sqrt(float(s.K));
  std::fill_n(out->v, s.B * s.T * s.H * s.V, 0.f);
  std::fill_n(out->beta, s.B * s.T * s.H * s.V, 0.f);
  parallel(s, threads, [=](int64_t b, int64_t h) {
    backwardHead(s, *in, scale, dO, b, h, *out);
  });
}
}
