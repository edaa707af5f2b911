#include "shared/usage/recorder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace recorder_test {

using namespace dockdist;
using wire::Figure;

namespace {

Reading reading(std::int64_t at_ms, double load, double power = 100) {
    return {.at_ms = at_ms, .values = {{Figure::gpu_utilization, 0, load}, {Figure::gpu_power, 0, power}}};
}

wire::FigureUse use_of(const std::vector<wire::FigureUse>& figures, Figure figure) {
    return *std::ranges::find(figures, figure, &wire::FigureUse::figure);
}

} // namespace

TEST_CASE("means are weighted by the time, and a peak is that of one look") {
    Recorder recorder(1000);
    CHECK(recorder.empty());
    recorder.add(reading(5000, 0));
    recorder.add(reading(6000, 100, 700));
    recorder.add(reading(8000, 40)); // a look was missed: this one stands for two seconds
    const auto load = use_of(recorder.figures(), Figure::gpu_utilization);
    CHECK(load.seconds == doctest::Approx(4));
    CHECK(load.mean == doctest::Approx((0 + 100 + 2 * 40) / 4.0));
    CHECK(load.peak == 100);
    CHECK(load.peak_gpu == 0);
    CHECK(use_of(recorder.figures(), Figure::gpu_power).peak == 700);
    const auto figures = recorder.figures();
    CHECK(std::ranges::find(figures, Figure::cpu, &wire::FigureUse::figure) == figures.end());
}

TEST_CASE("what was not looked at for long stands for two intervals, not for all of it") {
    Recorder recorder(1000);
    recorder.add(reading(0, 100));
    recorder.add(reading(3'600'000, 0));
    const auto load = use_of(recorder.figures(), Figure::gpu_utilization);
    CHECK(load.seconds == doctest::Approx(3));
    CHECK(load.mean == doctest::Approx(100.0 / 3));
}

TEST_CASE("readings that come a little late leave no hole in a curve") {
    Recorder recorder(1000);
    for (const auto at_ms : {0, 990, 2010, 2990, 9000}) {
        recorder.add(reading(at_ms, at_ms));
    }
    const auto history = recorder.history(0);
    const auto& points = history.curves.front().points;
    REQUIRE(points.size() == 10);
    CHECK(points[1]->mean == 2010);
    CHECK(points[2]->mean == 2500);
    CHECK_FALSE(points[7].has_value()); // what was not looked at for long
    CHECK(points[8]->mean == 9000);
    CHECK(points[9]->mean == 9000);
}

TEST_CASE("GPUs of which nothing was told have no figure, and several are one mean") {
    Recorder recorder(1000);
    recorder.add(
        {.at_ms = 0, .values = {{Figure::gpu_utilization, 0, 80}, {Figure::gpu_utilization, 3, 20}}});
    recorder.add({.at_ms = 1000, .values = {{Figure::gpu_utilization, 3, 90}}});
    const auto load = use_of(recorder.figures(), Figure::gpu_utilization);
    CHECK(load.seconds == doctest::Approx(3)); // of GPUs
    CHECK(load.mean == doctest::Approx(190.0 / 3));
    CHECK(load.peak == 90);
    CHECK(load.peak_gpu == 3);
    const auto history = recorder.history(0);
    REQUIRE(history.curves.size() == 2);
    CHECK(history.curves[0].gpu == 0);
    CHECK(history.curves[0].points.size() == 1);
    CHECK(history.curves[1].points.size() == 2);
}

TEST_CASE("a day fits into the points of ten minutes, and keeps its least and most") {
    Recorder recorder(1000, 600);
    constexpr int seconds = 24 * 3600;
    for (int i = 0; i < seconds; ++i) {
        recorder.add(reading(i * 1000LL, i == 40000 ? 99 : 50));
    }
    const auto history = recorder.history(1772300000000);
    CHECK(history.started_ms == 1772300000000);
    const auto& curve = history.curves.front();
    CHECK(curve.points.size() > 300);
    CHECK(curve.points.size() <= 600);
    CHECK(static_cast<std::int64_t>(curve.points.size()) * history.step_ms >= seconds * 1000LL);
    CHECK(history.step_ms == 256'000);
    int peaks = 0;
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
        REQUIRE(curve.points[i].has_value());
        CHECK(curve.points[i]->least == 50);
        if (curve.points[i]->most == 99) {
            ++peaks;
            CHECK(i == 40000 * 1000 / 256000);
            CHECK(curve.points[i]->mean == doctest::Approx(50 + 49 / 256.0));
        }
    }
    CHECK(peaks == 1);
}

TEST_CASE("the first minutes are kept second by second") {
    Recorder recorder(1000, 600);
    for (int i = 0; i < 600; ++i) {
        recorder.add(reading(i * 1000LL, i % 101));
    }
    const auto history = recorder.history(0);
    CHECK(history.step_ms == 1000);
    REQUIRE(history.curves.front().points.size() == 600);
    CHECK(history.curves.front().points[77]->mean == 77);
}

TEST_CASE("a history made thinner keeps its time, its least and its most") {
    Recorder recorder(1000);
    for (int i = 0; i < 100; ++i) {
        recorder.add(reading(i * 1000LL, i));
    }
    const auto thin = thinned(recorder.history(7), 30);
    CHECK(thin.started_ms == 7);
    CHECK(thin.step_ms == 4000);
    REQUIRE(thin.curves.front().points.size() == 25);
    CHECK(*thin.curves.front().points[2] == wire::CurvePoint{.least = 8, .mean = 9.5, .most = 11});
    CHECK(thinned(thin, 30) == thin);
    auto gaps = thin;
    gaps.curves.front().points[3].reset();
    gaps.curves.front().points[2].reset();
    const auto thinner = thinned(gaps, 13);
    CHECK_FALSE(thinner.curves.front().points[1].has_value());
    CHECK(thinner.curves.front().points[0]->most == 7);
}

} // namespace recorder_test
