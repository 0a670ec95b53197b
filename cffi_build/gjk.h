/* Signed distance between two posed convex bodies: GJK apart, EPA overlapping.
 *
 * A body is the convex hull of its vertices (its core), swept by a sphere:
 * a sphere is one vertex and a radius, a capsule two vertices and a radius.
 * Points, segments and polygons are legal; duplicate and interior vertices
 * cost time only. Lengths are in the caller's unit, metres elsewhere here.
 *
 * Order of calls: gjk_body_init once a body, then any number of queries.
 * Nothing is allocated and nothing is global: queries may run in parallel as
 * long as no two share a workspace or a result.
 *
 * Signs, in every case:
 *     point_b - point_a = distance * normal
 * normal is a unit vector, from a towards b while the bodies are apart.
 * distance < 0 is the penetration depth: moving b by -distance * normal is a
 * shortest translation that leaves the bodies touching.
 *
 * Certificate. For any unit n the least n.(y - x), x in a and y in b, bounds
 * the signed distance from below. From above it is bounded by the norm of a
 * point of the Minkowski difference b - a or, overlapping, by minus the
 * distance from the origin to a closed surface inside b - a that winds round
 * the origin. GJK_OK means that the two bounds meet, and that the equation
 * above holds, within
 *     GJK_GAP * extent + GJK_ROUNDING * coordinates
 * where extent bounds the Minkowski difference of the cores and coordinates
 * the sum of the magnitudes that were subtracted to form it. */
#ifndef GJK_H
#define GJK_H

#include <stdint.h>

#define GJK_GAP 1e-12
#define GJK_ROUNDING 1e-14
/* Larger coordinates would overflow a squared cross product. */
#define GJK_MAX_COORDINATE 1e60
/* How much, in all, the rows of a rotation may miss being unit, square to each other and right-handed. */
#define GJK_ROTATION_TOLERANCE 1e-6
#define GJK_MAX_ITERATIONS 512
#define GJK_MAX_POINTS 1024
#define GJK_MAX_FACES 2048
#define GJK_LANES 4

typedef enum gjk_status {
    GJK_OK = 0,
    GJK_NOT_CONVERGED, /* lower <= signed distance <= upper still holds */
    GJK_BAD_COUNT,     /* no vertices */
    GJK_BAD_VERTEX,    /* not finite, or beyond GJK_MAX_COORDINATE */
    GJK_BAD_RADIUS,    /* not finite, negative, or beyond GJK_MAX_COORDINATE */
    GJK_BAD_POSE,      /* not finite, beyond the range, or not a rotation */
    GJK_BAD_MOTION     /* a velocity or a time that is not one */
} gjk_status;

/* Written by gjk_body_init and gjk_body_climb, read only after. All arrays stay the caller's and must outlive the
 * body. */
typedef struct gjk_body {
    const double *vertices; /* count rows of x, y, z in the body's frame */
    const double *lanes;    /* the same by coordinate: padded x, then y, then z */
    const int32_t *first, *neighbours, *starts; /* for climbing, or NULL */
    int32_t count, padded;
    int32_t wide; /* the machine has AVX2 */
    double radius;
    double centre[3]; /* middle of the bounding box */
    double bound;     /* largest distance of a vertex from centre */
    double reach;     /* largest distance of a vertex from the frame's origin */
} gjk_body;

/* What a pair remembers from one query to the next, the caller's, all zero at first. Any contents are safe: they change
 * how long a query takes, not its answer. All doubles, so that a caller may keep many in one array of numbers. */
typedef struct gjk_cache {
    double axis[3]; /* of the last query, in the frame of a */
    double count;   /* vertex pairs of its closest feature, 0 to 3 */
    double index_a[3], index_b[3];
} gjk_cache;
#define GJK_CACHE_SIZE 10

/* x_world = rotation x_body + translation, rotation row by row. */
typedef struct gjk_pose {
    double rotation[9];
    double translation[3];
} gjk_pose;

/* Witness points lie on the swept surfaces, in the world frame. They come from
 * the core points sum_k barycentric[k] * vertex[index[k]], k < count <= 4, by
 * a step of the radius along normal. Entries from count on are zero. */
typedef struct gjk_result {
    double distance;
    double lower, upper; /* certified bracket of the signed distance */
    double point_a[3], point_b[3];
    double normal[3];
    double barycentric[4];
    int32_t index_a[4], index_b[4];
    int32_t count;
    int32_t iterations; /* support evaluations */
} gjk_result;

typedef struct gjk_point {
    double x[3]; /* vertex of b minus vertex of a */
    int32_t index_a, index_b;
} gjk_point;

typedef struct gjk_face {
    double normal[3]; /* outward; zero if the triangle has no area */
    double offset;    /* of the plane along normal */
    double distance;  /* of the triangle from the origin */
    double aside;     /* of the triangle's nearest point from the normal, or rounding */
    double area;      /* twice the triangle's */
    int32_t vertex[3]; /* counter-clockwise seen from outside */
    int32_t across[3]; /* face across the edge vertex[i], vertex[i + 1] */
    int32_t alive;
    int32_t visible; /* number of the expansion that last saw the face */
} gjk_face;

/* Corners of a face of the quick EPA; what it measures of a face is in lanes, below. */
typedef struct gjk_side {
    int32_t vertex[3], across[3]; /* as above */
    int32_t doubtful;             /* may not see the origin from inside */
} gjk_side;

typedef struct gjk_edge {
    int32_t from, to;
    int32_t outer; /* face that stays */
    int32_t side;  /* which edge of it */
} gjk_edge;

/* Scratch of EPA, some 410 kB; contents mean nothing between calls. */
typedef struct gjk_workspace {
    gjk_point points[GJK_MAX_POINTS];
    gjk_face faces[GJK_MAX_FACES];
    gjk_edge horizon[GJK_MAX_FACES];
    int32_t fan[GJK_MAX_POINTS];
    int32_t stack[GJK_MAX_FACES];
    int32_t spare[GJK_MAX_FACES];
    gjk_side sides[GJK_MAX_FACES];
    /* Of each side: its outward normal, as long as twice the area; a point beyond sight along the normal sees it; key,
     * the offset of its plane squared, with its sign. GJK_LANES more, so that all may be looked at in fours. */
    double normal[3][GJK_MAX_FACES + GJK_LANES], sight[GJK_MAX_FACES + GJK_LANES], key[GJK_MAX_FACES + GJK_LANES];
    uint8_t seen[GJK_MAX_FACES + GJK_LANES];
} gjk_workspace;

/* Whether a pose is one: finite, within range, its rotation right-handed and orthonormal within the tolerance. */
int gjk_is_pose(const gjk_pose *pose);

/* Doubles that the lanes of a body need; they must be 32-byte aligned. */
int32_t gjk_lanes_size(int32_t count);

/* Checks and measures a body, and lays its vertices out in lanes. GJK_OK, GJK_BAD_COUNT, GJK_BAD_VERTEX or
 * GJK_BAD_RADIUS. */
gjk_status gjk_body_init(gjk_body *body, const double *vertices, int32_t count, double radius, double *lanes);

/* Lets queries climb along the edges of the body: vertex i has the neighbours neighbours[first[i]] up to, not including,
 * neighbours[first[i + 1]]. The vertices must be those of a convex polyhedron and the neighbours all its edges, else
 * answers are wrong. Fills starts, GJK_STARTS long. */
#define GJK_STARTS 1536
void gjk_body_climb(gjk_body *body, const int32_t *first, const int32_t *neighbours, int32_t *starts);

/* Signed distance of the swept bodies. cache may be NULL. GJK_OK fills result. GJK_NOT_CONVERGED fills lower, upper and
 * iterations, and distance with a NaN. GJK_BAD_POSE leaves result alone. */
gjk_status gjk_distance(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                        gjk_cache *cache, gjk_workspace *work, gjk_result *result);

/* Sets *answer to 1 if the swept bodies overlap or touch within the certificate's tolerance, else 0; stops at the first
 * proof of either. GJK_OK, GJK_NOT_CONVERGED (*answer = -1) or GJK_BAD_POSE. */
gjk_status gjk_intersects(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                          int32_t *answer);

#endif
