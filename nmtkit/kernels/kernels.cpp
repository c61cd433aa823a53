// Fused operations of training on a processor: each reads and writes its tensors once, where separate operations would
// do so five to ten times. Matrices are row by row, (rows, width); `number` is what products are computed in, float or
// bfloat16; all sums are float. Rows are dealt out to threads in equal parts, and what is summed over rows is summed
// thread by thread in their order, so equal numbers of threads give equal bits. Dropout draws a mask from (seed, place)
// and draws it again on the way back.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads() { return 1; }
static int omp_get_thread_num() { return 0; }
static int omp_get_num_threads() { return 1; }
#endif

typedef int64_t Count;

struct bfloat16 {
    uint16_t bits;
};

static inline float load(float x) { return x; }
static inline float load(bfloat16 x) {
    uint32_t bits = uint32_t(x.bits) << 16;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static inline void store(float &to, float x) { to = x; }
static inline void store(bfloat16 &to, float x) {  // to the nearest, ties to even
    uint32_t bits;
    memcpy(&bits, &x, 4);
    to.bits = uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// 32 bits without visible structure out of 32: two multiplications between shifts, as in the finaliser of MurmurHash3.
static inline uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ (x >> 16);
}

// Which places dropout keeps, and what it multiplies them by.
struct Mask {
    uint32_t low, high, dropped;
    float scale;
    Mask(uint64_t seed, float p) : low(uint32_t(seed)), high(uint32_t(seed >> 32)) {
        dropped = uint32_t(double(p) * 4294967296.0);
        scale = 1 / (1 - p);
    }
    float at(uint32_t place) const { return mixed(mixed(place + low) ^ high) >= dropped ? scale : 0.0f; }
};

// The rows of one thread.
struct Part {
    Count begin, end;
    explicit Part(Count rows) {
        Count threads = omp_get_num_threads(), thread = omp_get_thread_num();
        begin = rows * thread / threads;
        end = rows * (thread + 1) / threads;
    }
};

// Sums over rows, a block of `width` for each thread.
struct Sums {
    Count width;
    std::vector<float> blocks;
    explicit Sums(Count width) : width(width), blocks(size_t(width) * omp_get_max_threads(), 0.0f) {}
    float *own() { return &blocks[size_t(width) * omp_get_thread_num()]; }
    void write(float *to) const {
        for (Count i = 0; i < width; i++) {
            float sum = 0;
            for (size_t block = 0; block < blocks.size(); block += width) sum += blocks[block + i];
            to[i] = sum;
        }
    }
};

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

// exp(x) for x up to 88, to 2 units in the last place: 2^n · exp(rest), the rest within half a step of zero.
static inline float exponential(float x) {
    const float steps = (x < -87.0f ? -87.0f : x) * 1.44269504f;
    const float n = std::floor(steps + 0.5f);
    const float rest = (steps - n) * 0.69314718f;
    float e = 1.0f / 5040;
    e = e * rest + 1.0f / 720;
    e = e * rest + 1.0f / 120;
    e = e * rest + 1.0f / 24;
    e = e * rest + 1.0f / 6;
    e = e * rest + 0.5f;
    e = e * rest + 1;
    e = e * rest + 1;
    const int32_t exponent = (int32_t(n) + 127) << 23;
    float power;
    memcpy(&power, &exponent, 4);
    return e * power;
}

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

typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));

// C = A · B for (rows, inner), (inner, columns) and (rows, columns) in float, rows a multiple of 4, columns of 16.
static inline void multiply(const float *a, const float *b, float *c, Count rows, Count inner, Count columns) {
    for (Count row = 0; row < rows; row += 4)
        for (Count column = 0; column < columns; column += 16) {
            Vector first = {}, second = {}, third = {}, fourth = {};
            const float *left = a + row * inner, *right = b + column;
            for (Count k = 0; k < inner; k++, left++, right += columns) {
                const Vector values = *(const Vector *)right;
                first += left[0] * values;
                second += left[inner] * values;
                third += left[2 * inner] * values;
                fourth += left[3 * inner] * values;
            }
            float *to = c + row * columns + column;
            *(Vector *)to = first;
            *(Vector *)(to + columns) = second;
            *(Vector *)(to + 2 * columns) = third;
            *(Vector *)(to + 3 * columns) = fourth;
        }
}

static inline Count padded(Count count, Count step) { return (count + step - 1) / step * step; }

// A matrix of floats of one thread, zero where nothing was put.
struct Scratch {
    std::vector<float> values;
    Count rows, columns;
    Scratch(Count rows, Count columns) : values(size_t(rows * columns)), rows(rows), columns(columns) {}
    float *operator[](Count row) { return &values[size_t(row * columns)]; }
    template <typename number>
    void read(const number *from, Count stride, Count count, Count width, const float *bias = nullptr) {
        for (Count row = 0; row < count; row++) {
            float *to = (*this)[row];
            const number *own = from + row * stride;
            if (bias) {
#pragma omp simd
                for (Count i = 0; i < width; i++) to[i] = load(own[i]) + bias[i];
            } else {
#pragma omp simd
                for (Count i = 0; i < width; i++) to[i] = load(own[i]);
            }
        }
        if (count < rows) std::memset((*this)[count], 0, size_t((rows - count) * columns) * sizeof(float));
    }
    void transpose(Scratch &from) {
        for (Count row = 0; row < rows; row++)
            for (Count i = 0; i < columns; i++) (*this)[row][i] = from[i][row];
    }
    template <typename number>
    void write(number *to, Count stride, Count count, Count width, float *sum = nullptr) {
        for (Count row = 0; row < count; row++) {
            const float *from = (*this)[row];
            number *own = to + row * stride;
#pragma omp simd
            for (Count i = 0; i < width; i++) store(own[i], from[i]);
            if (!sum) continue;
#pragma omp simd
            for (Count i = 0; i < width; i++) sum[i] += from[i];
        }
    }
};

// Where queries, keys and values of all sentences and heads lie: rows of `*_stride` numbers, a head's `size` of them
// beside the next head's. The biases, a number for each of a row, are not yet added.
struct Heads {
    Count sentences, heads, size, targets, sources, query_stride, memory_stride;
    const Count *lengths;  // keys of each sentence, or null where each position sees itself and those before
    const float *query_bias, *key_bias, *value_bias;
    Count seen(Count sentence, Count target) const { return lengths ? lengths[sentence] : target + 1; }
};

// Attention of one head over few positions, in the registers and nearest memory of one thread.
template <typename number> struct Attention {
    const Heads &at;
    Count rows, columns, width;
    float scale;
    Scratch query, key, value, across, weights, found;

    explicit Attention(const Heads &at)
        : at(at), rows(padded(at.targets, 16)), columns(padded(at.sources, 16)), width(padded(at.size, 16)),
          scale(1 / std::sqrt(float(at.size))), query(rows, width), key(columns, width), value(columns, width),
          across(width, columns), weights(rows, columns), found(rows, width) {}

    void read(const number *q, const number *k, const number *v, Count sentence, Count head) {
        const Count place = head * at.size, from = sentence * at.sources * at.memory_stride + place;
        query.read(q + sentence * at.targets * at.query_stride + place, at.query_stride, at.targets, at.size,
                   at.query_bias + place);
        key.read(k + from, at.memory_stride, at.sources, at.size, at.key_bias + place);
        value.read(v + from, at.memory_stride, at.sources, at.size, at.value_bias + place);
        across.transpose(key);
        multiply(query[0], across[0], weights[0], rows, width, columns);
    }

    // Scores to weights; what a position does not see weighs nothing.
    void soften(Count sentence) {
        for (Count row = 0; row < rows; row++) {
            float *w = weights[row];
            const Count seen = row < at.targets ? at.seen(sentence, row) : 0;
            float highest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : highest)
            for (Count i = 0; i < seen; i++) highest = w[i] > highest ? w[i] : highest;
#pragma omp simd reduction(+ : sum)
            for (Count i = 0; i < seen; i++) {
                w[i] = exponential((w[i] - highest) * scale);
                sum += w[i];
            }
            const float share = 1 / sum;
            for (Count i = 0; i < seen; i++) w[i] *= share;
            for (Count i = seen; i < columns; i++) w[i] = 0;
        }
    }

    static void forward(const Heads &at, const number *q, const number *k, const number *v, number *out) {
#pragma omp parallel
        {
            Attention own(at);
            for (Part part(at.sentences * at.heads); part.begin < part.end; part.begin++) {
                const Count sentence = part.begin / at.heads, head = part.begin % at.heads;
                const Count joined = at.heads * at.size;
                own.read(q, k, v, sentence, head);
                own.soften(sentence);
                multiply(own.weights[0], own.value[0], own.found[0], own.rows, own.columns, own.width);
                own.found.write(out + sentence * at.targets * joined + head * at.size, joined, at.targets, at.size);
            }
        }
    }

    // The gradients of the three biases lie one behind the other in `by_biases`.
    static void backward(const Heads &at, const number *q, const number *k, const number *v, const number *by_out,
                         number *by_q, number *by_k, number *by_v, float *by_biases) {
        Sums all(3 * at.heads * at.size);
#pragma omp parallel
        {
            Attention own(at);
            float *sums = all.own();
            Scratch by_found(own.rows, own.width), by_weights(own.rows, own.columns), turned(own.columns, own.rows),
                to_memory(own.columns, own.width);
            for (Part part(at.sentences * at.heads); part.begin < part.end; part.begin++) {
                const Count sentence = part.begin / at.heads, head = part.begin % at.heads;
                const Count joined = at.heads * at.size, place = head * at.size;
                const Count to_query = sentence * at.targets * at.query_stride + place;
                const Count to_key = sentence * at.sources * at.memory_stride + place;
                own.read(q, k, v, sentence, head);
                own.soften(sentence);
                by_found.read(by_out + sentence * at.targets * joined + head * at.size, joined, at.targets, at.size);
                turned.transpose(own.weights);
                multiply(turned[0], by_found[0], to_memory[0], own.columns, own.rows, own.width);
                to_memory.write(by_v + to_key, at.memory_stride, at.sources, at.size, sums + 2 * joined + place);
                own.across.transpose(own.value);
                multiply(by_found[0], own.across[0], by_weights[0], own.rows, own.width, own.columns);
                for (Count row = 0; row < own.rows; row++) {
                    const float *w = own.weights[row];
                    float *by = by_weights[row], level = 0;
#pragma omp simd reduction(+ : level)
                    for (Count i = 0; i < own.columns; i++) level += w[i] * by[i];
#pragma omp simd
                    for (Count i = 0; i < own.columns; i++) by[i] = w[i] * (by[i] - level) * own.scale;
                }
                multiply(by_weights[0], own.key[0], own.found[0], own.rows, own.columns, own.width);
                own.found.write(by_q + to_query, at.query_stride, at.targets, at.size, sums + place);
                turned.transpose(by_weights);
                multiply(turned[0], own.query[0], to_memory[0], own.columns, own.rows, own.width);
                to_memory.write(by_k + to_key, at.memory_stride, at.sources, at.size, sums + joined + place);
            }
        }
        all.write(by_biases);
    }
};

#define NUMBERS(name, number)                                                                                          \
    extern "C" void residual_forward_##name(const float *x, const void *y, const float *bias, uint64_t seed, float p,  \
                                            const float *gain, const float *shift, float epsilon, float *sum,          \
                                            float *mean, float *rate, float *normed, void *rounded, Count rows,        \
                                            Count width) {                                                             \
        Residual<number>::forward(x, (const number *)y, bias, seed, p, gain, shift, epsilon, sum, mean, rate, normed,  \
                                  (number *)rounded, rows, width);                                                     \
    }                                                                                                                  \
    extern "C" void residual_backward_##name(                                                                          \
        const float *by_sum, const float *by_normed, const void *by_rounded, const float *sum, const float *mean,      \
        const float *rate, const float *gain, uint64_t seed, float p, float *by_x, void *by_y, float *sums,            \
        Count rows, Count width) {                                                                                     \
        Residual<number>::backward(by_sum, by_normed, (const number *)by_rounded, sum, mean, rate, gain, seed, p,      \
                                   by_x, (number *)by_y, sums, rows, width);                                           \
    }                                                                                                                  \
    extern "C" void relu_forward_##name(void *x, const float *bias, uint64_t seed, float p, Count rows, Count width) { \
        Relu<number>::forward((number *)x, bias, seed, p, rows, width);                                                \
    }                                                                                                                  \
    extern "C" void relu_backward_##name(const void *by_y, const void *y, float p, void *by_x, float *by_bias,         \
                                         Count rows, Count width) {                                                    \
        Relu<number>::backward((const number *)by_y, (const number *)y, p, (number *)by_x, by_bias, rows, width);      \
    }                                                                                                                  \
    extern "C" void softmax_loss_##name(void *scores, const Count *targets, float smoothing, int gradient, float *nll, \
                                        float *mean, Count rows, Count width) {                                        \
        Softmax<number>::loss((number *)scores, targets, smoothing, gradient, nll, mean, rows, width);                 \
    }                                                                                                                  \
    extern "C" void attention_forward_##name(const Heads *at, const void *q, const void *k, const void *v,             \
                                             void *out) {                                                              \
        Attention<number>::forward(*at, (const number *)q, (const number *)k, (const number *)v, (number *)out);       \
    }                                                                                                                  \
    extern "C" void attention_backward_##name(const Heads *at, const void *q, const void *k, const void *v,            \
                                              const void *by_out, void *by_q, void *by_k, void *by_v,                  \
                                              float *by_biases) {                                                      \
        Attention<number>::backward(*at, (const number *)q, (const number *)k, (const number *)v,                      \
                                    (const number *)by_out, (number *)by_q, (number *)by_k, (number *)by_v,            \
                                    by_biases);                                                                        \
    }

NUMBERS(float32, float)
NUMBERS(bfloat16, bfloat16)
