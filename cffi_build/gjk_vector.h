/* Part of gjk.c: vectors of three, rotations row by row. */
#ifndef GJK_VECTOR_H
#define GJK_VECTOR_H

#include <math.h>

/* The larger of two numbers, neither a NaN: fmax has to ask. */
static inline double larger(double u, double v)
{
    return u > v ? u : v;
}

static inline double dot(const double u[3], const double v[3])
{
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

static inline double norm(const double u[3])
{
    return sqrt(dot(u, u));
}

static inline void sub(double out[3], const double u[3], const double v[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = u[i] - v[i];
    }
}

static inline void scale(double out[3], double s, const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = s * u[i];
    }
}

static inline void add_scaled(double out[3], double s, const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] += s * u[i];
    }
}

static inline void cross(double out[3], const double u[3], const double v[3])
{
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

static inline void rotate(double out[3], const double R[9], const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = dot(R + 3 * i, u);
    }
}

static inline void rotate_back(double out[3], const double R[9], const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = R[i] * u[0] + R[i + 3] * u[1] + R[i + 6] * u[2];
    }
}

#endif
