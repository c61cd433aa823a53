// Operations on rows of matrices: residual sums with their norms, the inner activation, and the loss of a softmax.

#pragma once

#include "numbers.h"

template <typename number> struct Residual {
    // sum = x + dropout(y + bias), normed = (sum - mean) / deviation · gain + shift; without y, sum is x.
    static void forward(const float *x, const number *y, const float *bias, uint64_t seed, float p, const float *gain,
                        const float *shift, float epsilon, float *sum, float *mean, float *rate, float *normed,
                        number *rounded, Count rows, Count width) {
        Mask mask(seed, p);
#pragma omp parallel
        for (Part part(rows); part.begin < part.end; part.begin++) {
            const Count at = part.begin * width;
            const float *s = x + at;
            if (y) {
                add(x + at, y + at, bias, mask, uint32_t(at), p, sum + at, width);
                s = sum + at;
            }
            if (!gain) continue;
            float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
            for (Count i = 0; i < width; i++) total += s[i];
            const float m = total / width;
#pragma omp simd reduction(+ : squares)
            for (Count i = 0; i < width; i++) squares += (s[i] - m) * (s[i] - m);
            const float r = 1 / std::sqrt(squares / width + epsilon);
            mean[part.begin] = m;
            rate[part.begin] = r;
            if (normed) {
                float *to = normed + at;
#pragma omp simd
                for (Count i = 0; i < width; i++) to[i] = (s[i] - m) * r * gain[i] + shift[i];
            }
            if (rounded) {
                number *to = rounded + at;
#pragma omp simd
                for (Count i = 0; i < width; i++) store(to[i], (s[i] - m) * r * gain[i] + shift[i]);
            }
        }
    }

    static void add(const float *x, const number *y, const float *bias, const Mask mask, uint32_t at, float p,
                    float *sum, Count width) {
        if (p > 0) {
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] = x[i] + (load(y[i]) + bias[i]) * mask.at(at + uint32_t(i));
        } else {
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] = x[i] + (load(y[i]) + bias[i]);
        }
    }

    static void gather(const float *one, const number *other, float *sum, Count width) {
        if (one && other) {
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] = one[i] + load(other[i]);
        } else if (one) {
            std::memcpy(sum, one, size_t(width) * sizeof(float));
        } else {
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] = load(other[i]);
        }
    }

    // From the gradients of sum, or of normed and rounded (one of them may be missing), to those of x, y, bias, gain
    // and shift; the last three lie one behind the other in `sums`.
    static void backward(const float *by_sum, const float *by_normed, const number *by_rounded, const float *sum,
                         const float *mean, const float *rate, const float *gain, uint64_t seed, float p, float *by_x,
                         number *by_y, float *sums, Count rows, Count width) {
        Mask mask(seed, p);
        Sums all(3 * width);
#pragma omp parallel
        {
            float *by_bias = all.own(), *by_gain = by_bias + width, *by_shift = by_gain + width;
            for (Part part(rows); part.begin < part.end; part.begin++) {
                const Count at = part.begin * width;
                float *to = by_x + at;
                if (gain) {
                    const float m = mean[part.begin], r = rate[part.begin];
                    const float *s = sum + at;
                    gather(by_normed ? by_normed + at : nullptr, by_rounded ? by_rounded + at : nullptr, to, width);
                    float level = 0, slope = 0;
#pragma omp simd reduction(+ : level, slope)
                    for (Count i = 0; i < width; i++) {
                        const float unit = (s[i] - m) * r, scaled = to[i] * gain[i];
                        by_gain[i] += to[i] * unit;
                        by_shift[i] += to[i];
                        level += scaled;
                        slope += scaled * unit;
                    }
                    level /= width;
                    slope /= width;
#pragma omp simd
                    for (Count i = 0; i < width; i++)
                        to[i] = r * (to[i] * gain[i] - level - (s[i] - m) * r * slope);
                } else {
                    std::memcpy(to, by_sum + at, size_t(width) * sizeof(float));
                }
                if (by_y) {
                    number *out = by_y + at;
                    const uint32_t first = uint32_t(at);
                    if (p > 0) {
                        const Mask own = mask;
#pragma omp simd
                        for (Count i = 0; i < width; i++) {
                            const float d = to[i] * own.at(first + uint32_t(i));
                            by_bias[i] += d;
                            store(out[i], d);
                        }
                    } else {
#pragma omp simd
                        for (Count i = 0; i < width; i++) {
                            by_bias[i] += to[i];
                            store(out[i], to[i]);
                        }
                    }
                }
            }
        }
        all.write(sums);
    }
};

static inline float positive(float x) { return x < 0 ? 0 : x; }  // what is no number stays none

template <typename number> struct Relu {
    // x becomes dropout(max(x + bias, 0)).
    static void forward(number *x, const float *bias, uint64_t seed, float p, Count rows, Count width) {
        Mask mask(seed, p);
#pragma omp parallel
        for (Part part(rows); part.begin < part.end; part.begin++) {
            number *to = x + part.begin * width;
            const uint32_t at = uint32_t(part.begin * width);
            if (p > 0) {
                const Mask own = mask;
#pragma omp simd
                for (Count i = 0; i < width; i++)
                    store(to[i], positive(load(to[i]) + bias[i]) * own.at(at + uint32_t(i)));
            } else {
#pragma omp simd
                for (Count i = 0; i < width; i++) store(to[i], positive(load(to[i]) + bias[i]));
            }
        }
    }

    // What is not zero was kept: the mask need not be drawn again.
    static void backward(const number *by_y, const number *y, float p, number *by_x, float *by_bias, Count rows,
                         Count width) {
        Sums all(width);
        const float scale = 1 / (1 - p);
#pragma omp parallel
        {
            float *own = all.own();
            for (Part part(rows); part.begin < part.end; part.begin++) {
                const Count at = part.begin * width;
                const number *from = by_y + at, *kept = y + at;
                number *to = by_x + at;
#pragma omp simd
                for (Count i = 0; i < width; i++) {
                    const float d = load(kept[i]) > 0 ? load(from[i]) * scale : 0.0f;
                    own[i] += d;
                    store(to[i], d);
                }
            }
        }
        all.write(by_bias);
    }
};

template <typename number> struct Softmax {
    // For each row of scores -log p(target) and the mean of -log p; with `gradient` the scores become the gradient of
    // (1 - smoothing) · the first + smoothing · the second.
    static void loss(number *scores, const Count *targets, float smoothing, int gradient, float *nll, float *mean,
                     Count rows, Count width) {
#pragma omp parallel
        {
            std::vector<float> powers(width);
            for (Part part(rows); part.begin < part.end; part.begin++) {
                number *row = scores + part.begin * width;
                const Count target = targets[part.begin];
                float highest = -INFINITY, total = 0, sum = 0;
#pragma omp simd reduction(max : highest) reduction(+ : total)
                for (Count i = 0; i < width; i++) {
                    const float score = load(row[i]);
                    highest = score > highest ? score : highest;
                    total += score;
                }
                float *power = powers.data();
#pragma omp simd reduction(+ : sum)
                for (Count i = 0; i < width; i++) {
                    power[i] = exponential(load(row[i]) - highest);
                    sum += power[i];
                }
                const float norm = highest + std::log(sum);
                nll[part.begin] = norm - load(row[target]);
                mean[part.begin] = norm - total / width;
                if (!gradient) continue;
                const float share = 1 / sum, spread = smoothing / width;
                const float missing = power[target] * share - spread - (1 - smoothing);
#pragma omp simd
                for (Count i = 0; i < width; i++) store(row[i], power[i] * share - spread);
                store(row[target], missing);
            }
        }
    }
};
