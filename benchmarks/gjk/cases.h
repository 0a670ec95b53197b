// What run.py hands over: for each family and size the bodies, the pairs and the poses to ask about.
//
// A little-endian stream of int32 and double: climb_from, the number of cases, then each case as `read_case` reads it.
#ifndef CASES_H
#define CASES_H

#include <array>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "gjk.h"
}

struct Shape {
    std::vector<double> vertices; // x, y, z of each
    std::vector<std::array<int32_t, 3>> triangles; // of the hull, counter-clockwise seen from outside

    int32_t count() const { return static_cast<int32_t>(vertices.size() / 3); }
};

struct Sample {
    gjk_pose a, b;
};

struct Case {
    std::string family;
    int32_t vertices;
    std::vector<Shape> shapes;
    std::vector<std::pair<int32_t, int32_t>> pairs;
    std::vector<Sample> samples; // sample i poses pair i % pairs.size(); these turn by turn, as a scene asks

    size_t pair_of(size_t sample) const { return sample % pairs.size(); }
};

class CaseFile {
  public:
    explicit CaseFile(const char *path) : stream_(path, std::ios::binary)
    {
        if (!stream_) {
            throw std::runtime_error(std::string("cannot read ") + path);
        }
        climb_from = read_int();
        count = read_int();
    }

    Case read_case()
    {
        Case c;
        c.family.resize(static_cast<size_t>(read_int()));
        read_bytes(c.family.data(), c.family.size());
        c.vertices = read_int();
        c.shapes.resize(static_cast<size_t>(read_int()));
        for (Shape &shape : c.shapes) {
            read_shape(shape);
        }
        c.pairs.resize(static_cast<size_t>(read_int()));
        read_bytes(c.pairs.data(), c.pairs.size() * sizeof c.pairs[0]);
        c.samples.resize(static_cast<size_t>(read_int()));
        read_bytes(c.samples.data(), c.samples.size() * sizeof c.samples[0]);
        return c;
    }

    int32_t climb_from; // vertices from which models/gjk.py climbs along edges
    int32_t count;

  private:
    void read_bytes(void *to, size_t size)
    {
        if (!stream_.read(static_cast<char *>(to), static_cast<std::streamsize>(size))) {
            throw std::runtime_error("the file of cases ends too soon");
        }
    }

    int32_t read_int()
    {
        int32_t value;
        read_bytes(&value, sizeof value);
        return value;
    }

    void read_shape(Shape &shape)
    {
        shape.vertices.resize(3 * static_cast<size_t>(read_int()));
        read_bytes(shape.vertices.data(), shape.vertices.size() * sizeof(double));
        shape.triangles.resize(static_cast<size_t>(read_int()));
        read_bytes(shape.triangles.data(), shape.triangles.size() * sizeof shape.triangles[0]);
    }

    std::ifstream stream_;
};

#endif
