#include "orchestrator/view/pools.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"

namespace hpo::view {
namespace {

constexpr int min_bar = 8, max_bar = 24;  ///< columns

struct Unit {
    const char* name;
    double bytes;
};

Unit unit_for(std::int64_t capacity) {
    static constexpr std::array<Unit, 3> units{{{"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0}}};
    const auto fitting = std::find_if(units.begin(), units.end() - 1,
                                      [&](const Unit& unit) { return static_cast<double>(capacity) >= unit.bytes; });
    return *fitting;
}

/// Returns the amount in a unit, without its name: "7.8", "24", "143".
std::string amount(std::int64_t bytes, const Unit& unit) {
    const double number = static_cast<double>(bytes) / unit.bytes;
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", number < 9.95 ? 1 : 0, number);
    return text;
}

std::string numbers(const Pool& pool) {
    const std::string state = state_text(pool.state, pool.reason);
    if (pool.state == "awaited" || pool.state == "set aside" || pool.state == "left") return state;
    const Unit unit = unit_for(pool.capacity);
    std::string text =
        amount(pool.reserved, unit) + " of " + amount(pool.capacity, unit) + " " + unit.name + " reserved";
    if (pool.used) text += ", " + amount(*pool.used, unit) + " used";
    if (pool.others > 0) text += ", " + amount(pool.others, unit) + " by others";
    text += ", " + counted(pool.trials, "trial");
    if (pool.state == "silent") text += ", " + state;
    if (!pool.usable && pool.state.empty()) text += ", set aside";
    return text;
}

/// Adds the cells of the bar: used, reserved beyond that, used by others, free.
void add_cells(Line& line, const Pool& pool, int width, const Screen& screen) {
    const std::int64_t used = pool.used.value_or(pool.reserved);
    const std::array<std::int64_t, 3> parts{used, std::max<std::int64_t>(0, pool.reserved - used), pool.others};
    static constexpr std::array<const char*, 4> blocks{"█", "▓", "░", "·"}, ascii{"#", "=", "+", "."};
    static constexpr std::array<Style, 4> styles{Style::accent, Style::accent, Style::notice, Style::dim};
    const double cell = static_cast<double>(std::max<std::int64_t>(1, pool.capacity)) / width;
    int drawn = 0;
    double sum = 0;
    for (std::size_t i = 0; i < styles.size(); ++i) {
        sum += i < parts.size() ? static_cast<double>(parts[i]) : 0;
        const int end = i < parts.size() ? std::clamp(static_cast<int>(std::lround(sum / cell)), drawn, width) : width;
        std::string cells;
        for (; drawn < end; ++drawn) cells += screen.utf8 ? blocks[i] : ascii[i];
        line.add(cells, styles[i]);
    }
}

bool has_gone(const Pool& pool) { return pool.state == "left" || pool.state == "set aside"; }

/// Sums up several devices. Hosts that have gone count by number alone.
Pool sum_of(std::span<const Pool> devices) {
    Pool all;
    all.name = std::to_string(devices.size()) + (devices.front().state.empty() ? " gpus" : " more");
    std::int64_t used = 0;
    bool measured = false;
    for (const Pool& device : devices) {
        if (has_gone(device)) continue;
        all.capacity += device.capacity;
        all.others += device.others;
        all.reserved += device.reserved;
        all.trials += device.trials;
        used += device.used.value_or(device.reserved);
        measured = measured || device.used.has_value();
    }
    if (measured) all.used = used;
    return all;
}

}  // namespace

std::string state_text(const std::string& state, const std::string& reason) {
    return state + (reason.empty() ? "" : (state == "silent" ? " " : ": ") + printable(reason));
}

int rows_for_pools(const Screen& screen) { return screen.height <= 0 ? 5 : std::clamp(screen.height / 4, 1, 5); }

void add_pools(Canvas& canvas, std::span<const Pool> pools, int rows, const Screen& screen) {
    if (pools.empty() || rows <= 0) return;
    std::vector<Pool> shown(pools.begin(), pools.end());
    std::vector<std::string> texts;
    for (const Pool& pool : shown) texts.push_back(numbers(pool));
    if (static_cast<int>(shown.size()) > std::max(rows, 2)) {
        const auto devices = pools.subspan(1);
        shown = {pools.front(), sum_of(devices)};
        texts = {texts.front(), numbers(shown[1])};
        for (const char* state : {"awaited", "silent", "left", "set aside"}) {
            const auto is_so = [&](const Pool& pool) {
                return pool.state.empty() || pool.state == "up" ? !pool.usable && state == std::string("set aside")
                                                                : pool.state == state;
            };
            if (const auto count = std::ranges::count_if(devices, is_so); count > 0)
                texts[1] += ", " + std::to_string(count) + " " + state;
        }
    }
    if (rows < static_cast<int>(shown.size())) {
        // With a single row, the pool with the most trials is shown.
        shown.erase(shown.begin(), shown.end() - rows);
        texts.erase(texts.begin(), texts.end() - rows);
    }
    int name_width = 0, text_width = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        name_width = std::max(name_width, columns(shown[i].name));
        text_width = std::max(text_width, columns(texts[i]));
    }
    const int left = screen.width > 0 ? screen.width - name_width - text_width - 4 : max_bar;
    const int bar = left < min_bar ? 0 : std::min(left, max_bar);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        Line line;
        line.add(pad_right(shown[i].name, name_width, screen) + "  ", Style::dim);
        if (bar > 0) add_cells(line, shown[i], bar, screen), line.add("  ");
        canvas.add(line.add(texts[i], shown[i].usable ? Style::plain : Style::notice));
    }
}

}  // namespace hpo::view
