// How long a query takes in gjk.c, coal and MuJoCo, on the same pairs in the same poses.
//
//     bench cases.bin rounds > times.csv
//
// Everything a library wants is prepared before the clock starts. A round goes through all cases, and in each lets one
// contender after the other answer all samples, once to fill the processor's caches and once for the clock. So a busy
// moment of the machine falls on all contenders, and on few rounds of any case. Every answer is compared with
// gjk_distance without a cache, whose answers are certified.

#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <set>

#include <coal/collision.h>
#include <coal/distance.h>
#include <coal/shape/convex.h>
#include <mujoco/mujoco.h>

using Answers = std::vector<double>;

// Metres; beyond every distance asked for, so that MuJoCo never stops early where a distance is wanted.
static const double FAR_AWAY = 10.0;

// MuJoCo's own limit of 35 iterations stops it up to 2 cm away from the depth of large bodies; this one never binds.
static const int RAISED_ITERATIONS = 400;

struct Contender {
    std::string name;
    std::function<void()> reset; // not timed, before each round
    std::function<void(Answers &)> answer_all;
};

static void nothing_to_reset() {}

// Signed distances, and NaN for a query that failed. For "boolean": 1 if the bodies overlap, else 0.
class Ours {
  public:
    Ours(const Case &c, int32_t climb_from) : case_(c), bodies_(c.shapes.size()), caches_(c.pairs.size())
    {
        for (size_t i = 0; i < c.shapes.size(); ++i) {
            prepare(bodies_[i], c.shapes[i], climb_from);
        }
    }

    void distance_cold(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            answers[i] = distance(i, nullptr);
        }
    }

    void distance_warm(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            answers[i] = distance(i, &caches_[case_.pair_of(i)]);
        }
    }

    void overlap(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            const auto &[a, b] = case_.pairs[case_.pair_of(i)];
            const Sample &sample = case_.samples[i];
            int32_t answer;
            gjk_status status =
                gjk_intersects(&bodies_[a].body, &sample.a, &bodies_[b].body, &sample.b, &answer);
            answers[i] = status == GJK_OK ? answer : NAN;
        }
    }

    void forget() { std::fill(caches_.begin(), caches_.end(), gjk_cache{}); }

  private:
    struct FreeDeleter {
        void operator()(void *memory) const { std::free(memory); }
    };

    struct Body {
        gjk_body body;
        std::unique_ptr<double, FreeDeleter> lanes;
        std::vector<int32_t> first, neighbours, starts;
    };

    double distance(size_t i, gjk_cache *cache)
    {
        const auto &[a, b] = case_.pairs[case_.pair_of(i)];
        const Sample &sample = case_.samples[i];
        gjk_status status =
            gjk_distance(&bodies_[a].body, &sample.a, &bodies_[b].body, &sample.b, cache, work_.get(), &result_);
        return status == GJK_OK ? result_.distance : NAN;
    }

    static void prepare(Body &to, const Shape &shape, int32_t climb_from)
    {
        size_t bytes = sizeof(double) * static_cast<size_t>(gjk_lanes_size(shape.count()));
        to.lanes.reset(static_cast<double *>(std::aligned_alloc(32, (bytes + 31) / 32 * 32)));
        if (gjk_body_init(&to.body, shape.vertices.data(), shape.count(), 0.0, to.lanes.get()) != GJK_OK) {
            throw std::runtime_error("gjk_body_init refuses a body");
        }
        if (shape.count() >= climb_from) {
            list_neighbours(to, shape);
            to.starts.resize(GJK_STARTS);
            gjk_body_climb(&to.body, to.first.data(), to.neighbours.data(), to.starts.data());
        }
    }

    static void list_neighbours(Body &to, const Shape &shape)
    {
        std::vector<std::set<int32_t>> around(static_cast<size_t>(shape.count()));
        for (const auto &triangle : shape.triangles) {
            for (int i = 0; i < 3; ++i) {
                around[static_cast<size_t>(triangle[i])].insert({triangle[(i + 1) % 3], triangle[(i + 2) % 3]});
            }
        }
        for (const auto &ring : around) {
            to.first.push_back(static_cast<int32_t>(to.neighbours.size()));
            to.neighbours.insert(to.neighbours.end(), ring.begin(), ring.end());
        }
        to.first.push_back(static_cast<int32_t>(to.neighbours.size()));
    }

    const Case &case_;
    std::vector<Body> bodies_;
    std::vector<gjk_cache> caches_;
    std::unique_ptr<gjk_workspace> work_ = std::make_unique<gjk_workspace>();
    gjk_result result_;
};

// Plain: coal's functions with the settings they come with. Tuned: its fastest way in, one solver kept for each pair,
// with the fastest settings that still give the distance and the nearest points.
class Coal {
  public:
    explicit Coal(const Case &c) : case_(c)
    {
        for (const Shape &shape : c.shapes) {
            shapes_.push_back(convex(shape));
        }
        for (const auto &[a, b] : c.pairs) {
            distances_.emplace_back(shapes_[a].get(), shapes_[b].get());
            collisions_.emplace_back(shapes_[a].get(), shapes_[b].get());
        }
        for (const Sample &sample : c.samples) {
            poses_.push_back({transform(sample.a), transform(sample.b)});
        }
        tune();
        forget();
    }

    void distance_plain(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            const auto &[a, b] = case_.pairs[case_.pair_of(i)];
            const Poses &poses = poses_[i];
            distance_.clear();
            answers[i] = coal::distance(shapes_[a].get(), poses.a, shapes_[b].get(), poses.b, plain_, distance_);
        }
    }

    void distance_tuned(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            distance_.clear();
            answers[i] = distances_[case_.pair_of(i)](poses_[i].a, poses_[i].b, tuned_, distance_);
        }
    }

    void distance_warm(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            size_t pair = case_.pair_of(i);
            const coal::DistanceRequest &request = warm_[pair];
            distance_.clear();
            answers[i] = distances_[pair](poses_[i].a, poses_[i].b, request, distance_);
            request.updateGuess(distance_);
        }
    }

    void overlap_plain(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            const auto &[a, b] = case_.pairs[case_.pair_of(i)];
            const Poses &poses = poses_[i];
            collision_.clear();
            coal::collide(shapes_[a].get(), poses.a, shapes_[b].get(), poses.b, plain_overlap_, collision_);
            answers[i] = collision_.isCollision();
        }
    }

    void overlap_tuned(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            collision_.clear();
            collisions_[case_.pair_of(i)](poses_[i].a, poses_[i].b, tuned_overlap_, collision_);
            answers[i] = collision_.isCollision();
        }
    }

    void forget()
    {
        coal::DistanceRequest request;
        request.gjk_initial_guess = coal::GJKInitialGuess::CachedGuess;
        warm_.assign(case_.pairs.size(), request);
    }

  private:
    struct Poses {
        coal::Transform3s a, b;
    };

    // By trial on these cases: the guess from the boxes always pays, acceleration from 50 vertices on, and from 200 on
    // the 64 expansions that coal allows EPA stop it millimetres away from the depth.
    void tune()
    {
        tuned_.gjk_initial_guess = coal::GJKInitialGuess::BoundingVolumeGuess;
        tuned_overlap_.gjk_initial_guess = coal::GJKInitialGuess::BoundingVolumeGuess;
        tuned_overlap_.distance_upper_bound = 0.0;
        if (case_.vertices >= 50) {
            tuned_.gjk_variant = coal::GJKVariant::NesterovAcceleration;
        }
        if (case_.vertices >= 200) {
            tuned_.epa_max_iterations = 256;
        }
    }

    static std::unique_ptr<coal::ConvexBase> convex(const Shape &shape)
    {
        auto points = std::make_shared<std::vector<coal::Vec3s>>();
        for (size_t i = 0; i < shape.vertices.size(); i += 3) {
            points->emplace_back(shape.vertices[i], shape.vertices[i + 1], shape.vertices[i + 2]);
        }
        auto triangles = std::make_shared<std::vector<coal::Triangle>>();
        for (const auto &triangle : shape.triangles) {
            triangles->emplace_back(triangle[0], triangle[1], triangle[2]);
        }
        auto body = std::make_unique<coal::Convex<coal::Triangle>>(points, points->size(), triangles,
                                                                  triangles->size());
        body->computeLocalAABB();
        return body;
    }

    static coal::Transform3s transform(const gjk_pose &pose)
    {
        using RowMajor = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
        coal::Matrix3s rotation = Eigen::Map<const RowMajor>(pose.rotation);
        coal::Vec3s translation = Eigen::Map<const coal::Vec3s>(pose.translation);
        return {rotation, translation};
    }

    const Case &case_;
    std::vector<std::unique_ptr<coal::ConvexBase>> shapes_;
    std::vector<coal::ComputeDistance> distances_;
    std::vector<coal::ComputeCollision> collisions_;
    std::vector<Poses> poses_;
    coal::DistanceRequest plain_, tuned_;
    std::vector<coal::DistanceRequest> warm_;
    coal::DistanceResult distance_;
    coal::CollisionRequest plain_overlap_{coal::NO_REQUEST, 1}, tuned_overlap_{coal::NO_REQUEST, 1};
    coal::CollisionResult collision_;
};

// Two geoms for each sample, so that no pose has to be written while the clock runs.
class MuJoCo {
  public:
    explicit MuJoCo(const Case &c)
    {
        std::unique_ptr<mjSpec, decltype(&mj_deleteSpec)> spec(mj_makeSpec(), mj_deleteSpec);
        for (size_t i = 0; i < c.shapes.size(); ++i) {
            add_mesh(spec.get(), c.shapes[i], std::to_string(i));
        }
        for (size_t i = 0; i < c.samples.size(); ++i) {
            const auto &[a, b] = c.pairs[c.pair_of(i)];
            add_geom(spec.get(), std::to_string(a));
            add_geom(spec.get(), std::to_string(b));
        }
        model_.reset(mj_compile(spec.get(), nullptr));
        if (!model_) {
            throw std::runtime_error(mjs_getError(spec.get()));
        }
        data_.reset(mj_makeData(model_.get()));
        shipped_iterations_ = model_->opt.ccd_iterations;
        for (size_t i = 0; i < c.samples.size(); ++i) {
            pose(static_cast<int>(2 * i), c.samples[i].a);
            pose(static_cast<int>(2 * i + 1), c.samples[i].b);
        }
    }

    void distance(Answers &answers)
    {
        mjtNum segment[6];
        for (size_t i = 0; i < answers.size(); ++i) {
            int geom = static_cast<int>(2 * i);
            answers[i] = mj_geomDistance(model_.get(), data_.get(), geom, geom + 1, FAR_AWAY, segment);
        }
    }

    void overlap(Answers &answers)
    {
        for (size_t i = 0; i < answers.size(); ++i) {
            int geom = static_cast<int>(2 * i);
            answers[i] = mj_geomDistance(model_.get(), data_.get(), geom, geom + 1, 0.0, nullptr) < 0.0;
        }
    }

    void limit_as_shipped() { model_->opt.ccd_iterations = shipped_iterations_; }

    void limit_raised() { model_->opt.ccd_iterations = RAISED_ITERATIONS; }

  private:
    static void add_mesh(mjSpec *spec, const Shape &shape, const std::string &name)
    {
        std::vector<float> vertices(shape.vertices.begin(), shape.vertices.end());
        mjsMesh *mesh = mjs_addMesh(spec, nullptr);
        mjs_setName(mesh->element, name.c_str());
        mjs_setFloat(mesh->uservert, vertices.data(), static_cast<int>(vertices.size()));
    }

    static void add_geom(mjSpec *spec, const std::string &mesh)
    {
        mjsGeom *geom = mjs_addGeom(mjs_findBody(spec, "world"), nullptr);
        geom->type = mjGEOM_MESH;
        mjs_setString(geom->meshname, mesh.c_str());
    }

    // MuJoCo moves a mesh into its frame of inertia; geom_pos and geom_quat say where that is in ours.
    void pose(int geom, const gjk_pose &to)
    {
        mjtNum local[9];
        mjtNum *position = data_->geom_xpos + 3 * geom;
        mju_quat2Mat(local, model_->geom_quat + 4 * geom);
        mju_mulMatMat(data_->geom_xmat + 9 * geom, to.rotation, local, 3, 3, 3);
        mju_mulMatVec3(position, to.rotation, model_->geom_pos + 3 * geom);
        mju_addTo3(position, to.translation);
    }

    int shipped_iterations_;
    std::unique_ptr<mjModel, decltype(&mj_deleteModel)> model_{nullptr, mj_deleteModel};
    std::unique_ptr<mjData, decltype(&mj_deleteData)> data_{nullptr, mj_deleteData};
};

static std::vector<Contender> contenders_for(const std::string &family, Ours &ours, Coal &coal, MuJoCo &mujoco)
{
    if (family == "boolean") {
        return {{"ours", nothing_to_reset, [&](Answers &to) { ours.overlap(to); }},
                {"coal", nothing_to_reset, [&](Answers &to) { coal.overlap_plain(to); }},
                {"coal tuned", nothing_to_reset, [&](Answers &to) { coal.overlap_tuned(to); }},
                {"mujoco", nothing_to_reset, [&](Answers &to) { mujoco.overlap(to); }}};
    }
    Contender coal_plain{"coal", nothing_to_reset, [&](Answers &to) { coal.distance_plain(to); }};
    Contender mujoco_shipped{"mujoco", [&] { mujoco.limit_as_shipped(); }, [&](Answers &to) { mujoco.distance(to); }};
    if (family == "coherent") {
        return {{"ours", [&] { ours.forget(); }, [&](Answers &to) { ours.distance_warm(to); }},
                coal_plain,
                {"coal tuned", [&] { coal.forget(); }, [&](Answers &to) { coal.distance_warm(to); }},
                mujoco_shipped};
    }
    std::vector<Contender> contenders = {
        {"ours", nothing_to_reset, [&](Answers &to) { ours.distance_cold(to); }},
        coal_plain,
        {"coal tuned", nothing_to_reset, [&](Answers &to) { coal.distance_tuned(to); }},
        mujoco_shipped};
    if (family == "shallow" || family == "deep") {
        contenders.push_back(
            {"mujoco raised", [&] { mujoco.limit_raised(); }, [&](Answers &to) { mujoco.distance(to); }});
    }
    return contenders;
}

// The processor's time and not the wall's: when the machine is busy, long turns are interrupted more often than short.
static double processor_seconds()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

static double seconds_for(const Contender &contender, Answers &answers)
{
    contender.reset();
    contender.answer_all(answers);
    contender.reset();
    double begin = processor_seconds();
    contender.answer_all(answers);
    return processor_seconds() - begin;
}

static double median(std::vector<double> values)
{
    size_t middle = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
    return values[middle];
}

static Answers reference_answers(const Case &c, Ours &ours)
{
    Answers answers(c.samples.size());
    ours.distance_cold(answers);
    for (double &answer : answers) {
        if (std::isnan(answer)) {
            throw std::runtime_error("gjk_distance did not converge on a sample of " + c.family);
        }
        if (c.family == "boolean") {
            answer = answer <= 0.0;
        }
    }
    return answers;
}

static void print_row(const Case &c, const std::string &name, double seconds, const Answers &answers,
                      const Answers &reference)
{
    double off = 0.0;
    int failed = 0;
    for (size_t i = 0; i < answers.size(); ++i) {
        if (std::isnan(answers[i])) {
            ++failed;
        } else {
            off = std::max(off, std::fabs(answers[i] - reference[i]));
        }
    }
    double nanoseconds = 1e9 * seconds / static_cast<double>(answers.size());
    std::printf("%s,%d,%s,%.1f,%.3g,%d\n", c.family.c_str(), c.vertices, name.c_str(), nanoseconds, off, failed);
}

// One case, ready for all contenders. Stays where it is made, since the contenders point into it.
class Trial {
  public:
    Trial(Case c, int32_t climb_from)
        : case_(std::move(c)), ours_(case_, climb_from), coal_(case_), mujoco_(case_),
          reference_(reference_answers(case_, ours_)),
          contenders_(contenders_for(case_.family, ours_, coal_, mujoco_)),
          answers_(contenders_.size(), Answers(case_.samples.size())), seconds_(contenders_.size())
    {
    }

    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;

    void run_round()
    {
        for (size_t k = 0; k < contenders_.size(); ++k) {
            seconds_[k].push_back(seconds_for(contenders_[k], answers_[k]));
        }
    }

    void print() const
    {
        for (size_t k = 0; k < contenders_.size(); ++k) {
            print_row(case_, contenders_[k].name, median(seconds_[k]), answers_[k], reference_);
        }
    }

  private:
    Case case_;
    Ours ours_;
    Coal coal_;
    MuJoCo mujoco_;
    Answers reference_;
    std::vector<Contender> contenders_;
    std::vector<Answers> answers_;
    std::vector<std::vector<double>> seconds_;
};

static void run(const char *path, int rounds)
{
    CaseFile file(path);
    std::vector<std::unique_ptr<Trial>> trials;
    for (int32_t i = 0; i < file.count; ++i) {
        trials.push_back(std::make_unique<Trial>(file.read_case(), file.climb_from));
    }
    for (int round = 0; round < rounds; ++round) {
        for (const auto &trial : trials) {
            trial->run_round();
        }
    }
    std::printf("family,vertices,library,nanoseconds,off,failed\n");
    for (const auto &trial : trials) {
        trial->print();
    }
}

int main(int argc, char **argv)
{
    int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
    if (rounds < 1) {
        std::fprintf(stderr, "usage: %s cases.bin rounds\n", argv[0]);
        return 2;
    }
    try {
        run(argv[1], rounds);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
