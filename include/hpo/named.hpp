// A small map from names to values, for parameters and metrics: a study has 100,000 trials with the same few names.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hpo {

/// Names in ascending order.
struct Names {
    std::vector<std::string> list;
    bool shared = false;  ///< by several maps, so that it never changes
};

/// Values by name, in the order of the names, with the interface of std::map as far as it is needed. An iterator yields
/// a pair of references, not a reference to a pair, and is invalid after an insertion. Maps that share_names() has
/// passed, and their copies, have their names in common, also while they are filled if they expect() them.
template <class V>
class Named {
   public:
    using key_type = std::string;
    using mapped_type = V;
    using size_type = std::size_t;

    template <class Value>
    struct Entry {
        using first_type = std::string;
        using second_type = std::remove_const_t<Value>;
        const std::string& first;
        Value& second;
    };

    template <class Value>
    class Iterator {
       public:
        using value_type = Entry<Value>;
        using reference = value_type;
        using difference_type = std::ptrdiff_t;
        using iterator_category = std::input_iterator_tag;
        struct pointer {
            value_type entry;
            const value_type* operator->() const { return &entry; }
        };

        Iterator() = default;
        Iterator(const std::string* name, Value* value) : name_(name), value_(value) {}
        template <class Other>
        requires std::same_as<const Other, Value> &&(!std::same_as<Other, Value>)Iterator(const Iterator<Other>& other)
            : name_(other.name_), value_(other.value_) {}  // NOLINT: as std::map

        reference operator*() const { return {*name_, *value_}; }
        pointer operator->() const { return {**this}; }
        Iterator& operator++() { return ++name_, ++value_, *this; }
        Iterator operator++(int) { return std::exchange(*this, {name_ + 1, value_ + 1}); }
        Iterator& operator--() { return --name_, --value_, *this; }
        bool operator==(const Iterator& other) const { return value_ == other.value_; }

       private:
        template <class>
        friend class Iterator;
        const std::string* name_ = nullptr;
        Value* value_ = nullptr;
    };

    using value_type = Entry<const V>;
    using iterator = Iterator<V>;
    using const_iterator = Iterator<const V>;

    Named() = default;
    Named(std::initializer_list<std::pair<std::string, V>> entries) {
        for (const auto& [name, value] : entries) emplace(name, value);
    }
    template <class Iter>
    Named(Iter begin, Iter end) {
        insert(begin, end);
    }
    Named(const Named& other) : names_(copy(other.names_)), values_(other.values_) {}
    Named(Named&& other) noexcept : names_(std::move(other.names_)), values_(std::move(other.values_)) {
        other.clear();
    }
    Named& operator=(Named other) noexcept {
        names_.swap(other.names_);
        values_.swap(other.values_);
        return *this;
    }
    ~Named() = default;

    [[nodiscard]] bool empty() const { return values_.empty(); }
    [[nodiscard]] std::size_t size() const { return values_.size(); }
    void clear() {
        names_.reset();
        values_.clear();
    }

    [[nodiscard]] iterator begin() { return at_place(0); }
    [[nodiscard]] iterator end() { return at_place(size()); }
    [[nodiscard]] const_iterator begin() const { return at_place(0); }
    [[nodiscard]] const_iterator end() const { return at_place(size()); }

    [[nodiscard]] iterator find(std::string_view name) { return at_place(found(name)); }
    [[nodiscard]] const_iterator find(std::string_view name) const { return at_place(found(name)); }
    [[nodiscard]] bool contains(std::string_view name) const { return found(name) != size(); }
    [[nodiscard]] std::size_t count(std::string_view name) const { return contains(name) ? 1 : 0; }
    [[nodiscard]] const V& at(std::string_view name) const { return values_.at(found_or_throw(name)); }
    [[nodiscard]] V& at(std::string_view name) { return values_.at(found_or_throw(name)); }

    V& operator[](std::string_view name) { return try_emplace(name).first->second; }

    /// Return the entry of the name, and whether it is new. Only insert_or_assign() changes a present one.
    template <class... Args>
    std::pair<iterator, bool> try_emplace(std::string_view name, Args&&... args) {
        if (is_expected(name)) {
            values_.emplace_back(std::forward<Args>(args)...);
            return {at_place(size() - 1), true};
        }
        const std::size_t place = lower(name);
        if (place < size() && names_->list[place] == name) return {at_place(place), false};
        own_names();
        names_->list.emplace(names_->list.begin() + static_cast<std::ptrdiff_t>(place), name);
        values_.emplace(values_.begin() + static_cast<std::ptrdiff_t>(place), std::forward<Args>(args)...);
        return {at_place(place), true};
    }
    template <class Value>
    std::pair<iterator, bool> emplace(std::string_view name, Value&& value) {
        return try_emplace(name, std::forward<Value>(value));
    }
    template <class Value>
    std::pair<iterator, bool> insert_or_assign(std::string_view name, Value&& value) {
        const auto entry = try_emplace(name);
        entry.first->second = std::forward<Value>(value);
        return entry;
    }
    template <class Pair>
    requires requires(Pair&& pair) { pair.second; }
    std::pair<iterator, bool> insert(Pair&& entry) { return try_emplace(entry.first, entry.second); }
    std::pair<iterator, bool> insert(const std::pair<std::string, V>& entry) {
        return try_emplace(entry.first, entry.second);
    }
    template <class Iter>
    void insert(Iter begin, Iter end) {
        for (; begin != end; ++begin) try_emplace(begin->first, begin->second);
    }
    std::size_t erase(std::string_view name) {
        const std::size_t place = found(name);
        if (place == size()) return 0;
        own_names();
        names_->list.erase(names_->list.begin() + static_cast<std::ptrdiff_t>(place));
        values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(place));
        return 1;
    }

    /// Tells an empty map that it will probably be filled with these names, in ascending order. While it is, no name is
    /// copied. `names` must be nullptr, or shared.
    void expect(const std::shared_ptr<Names>& names) {
        if (!names || !values_.empty()) return;
        names_ = names;
        values_.reserve(names->list.size());
    }
    /// Returns the names, for expect(); nullptr if they are not shared.
    [[nodiscard]] std::shared_ptr<Names> shared_names() const { return names_ && names_->shared ? names_ : nullptr; }

    /// Takes the names from `others`, which come to have them. Frees memory that was reserved for more values.
    void share_names(std::vector<std::shared_ptr<Names>>& others) {
        constexpr std::size_t most = 16;  // spaces with conditions have several lists of names
        if (empty()) return clear();
        values_.shrink_to_fit();
        if (names_->list.size() != size()) own_names();  // more were expected
        for (const auto& other : others)
            if (names_ == other || names_->list == other->list) {
                names_ = other;
                return;
            }
        own_names();
        names_->shared = true;
        if (others.size() == most) others.erase(others.begin());
        others.push_back(names_);
    }

    friend bool operator==(const Named& a, const Named& b) {
        const auto same_names = [&] {
            const auto begin = a.names_->list.begin();
            return std::equal(begin, begin + static_cast<std::ptrdiff_t>(a.size()), b.names_->list.begin());
        };
        return a.size() == b.size() && (a.names_ == b.names_ || a.empty() || same_names()) && a.values_ == b.values_;
    }
    friend bool operator<(const Named& a, const Named& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return std::tie(x.first, x.second) < std::tie(y.first, y.second);
        });
    }

   private:
    static std::shared_ptr<Names> copy(const std::shared_ptr<Names>& names) {
        return !names || names->shared ? names : std::make_shared<Names>(*names);
    }
    void own_names() {
        if (names_ && !names_->shared) return;
        auto own = std::make_shared<Names>();
        if (!values_.empty())
            own->list.assign(names_->list.begin(), names_->list.begin() + static_cast<std::ptrdiff_t>(size()));
        names_ = std::move(own);
        if (names_->list.empty()) names_->list.reserve(4), values_.reserve(4);
    }
    [[nodiscard]] bool is_expected(std::string_view name) const {
        return names_ && size() < names_->list.size() && names_->list[size()] == name;
    }
    [[nodiscard]] std::size_t lower(std::string_view name) const {
        if (values_.empty()) return 0;
        const auto begin = names_->list.begin(), end = begin + static_cast<std::ptrdiff_t>(size());
        if (*(end - 1) < name) return size();  // as stored maps are read
        return static_cast<std::size_t>(std::lower_bound(begin, end, name) - begin);
    }
    [[nodiscard]] std::size_t found(std::string_view name) const {
        const std::size_t place = lower(name);
        return place < size() && names_->list[place] == name ? place : size();
    }
    [[nodiscard]] std::size_t found_or_throw(std::string_view name) const {
        const std::size_t place = found(name);
        if (place == size()) throw std::out_of_range("no value named '" + std::string(name) + "'");
        return place;
    }
    [[nodiscard]] const std::string* name_at(std::size_t place) const {
        return names_ ? names_->list.data() + place : nullptr;
    }
    [[nodiscard]] iterator at_place(std::size_t place) { return {name_at(place), values_.data() + place}; }
    [[nodiscard]] const_iterator at_place(std::size_t place) const { return {name_at(place), values_.data() + place}; }

    std::shared_ptr<Names> names_;  ///< of the values, then expected ones; nullptr if there are neither
    std::vector<V> values_;
};

}  // namespace hpo
