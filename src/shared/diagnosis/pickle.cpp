#include "shared/diagnosis/pickle.hpp"

#include "shared/wire/little_endian.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace dockdist {

// The machine that a pickle is a program of: a stack of values, marks in it, and a memo.
class PickleReader {
public:
    explicit PickleReader(std::string_view bytes) : rest_(bytes) {}
    Result<Pickle> read();

private:
    using Kind = Pickle::Kind;
    using Node = Pickle::Node;
    enum class Step { next, over };

    Result<Step> step(unsigned char opcode);
    Status push(Node node);
    Status push_integer(std::int64_t value) { return push({.kind = Kind::integer, .integer = value}); }
    Status push_long(std::optional<std::uint64_t> size);
    Status push_text(std::optional<std::uint64_t> size);
    Status push_tuple(std::size_t count);
    Status push_from_mark(Kind kind);
    Status append(std::size_t from, Kind kind);
    Status append_from_mark(Kind kind);
    Status put(std::optional<std::uint64_t> place);
    Status get(std::optional<std::uint64_t> place);
    Result<std::size_t> mark();
    std::optional<std::uint64_t> number(std::size_t bytes);
    std::optional<std::string_view> take(std::uint64_t bytes);

    std::string_view rest_;
    Pickle pickle_{};
    std::vector<std::uint32_t> stack_{};
    std::vector<std::size_t> marks_{};
    std::vector<std::uint32_t> memo_{}; // plus one; 0: nothing
};

namespace {

constexpr auto bad = [](std::string message) {
    return Error{.kind = ErrorKind::protocol, .message = "a pickle: " + std::move(message)};
};

Error ends_early() {
    return bad("it ends too early");
}

} // namespace

Result<Pickle> Pickle::read(std::string_view bytes) {
    if (bytes.size() > most_bytes) {
        return bad("it is larger than 64 MiB");
    }
    return PickleReader(bytes).read();
}

Result<Pickle> PickleReader::read() {
    while (const auto opcode = take(1)) {
        const auto done = step(static_cast<unsigned char>(opcode->front()));
        TRY(done);
        if (*done == Step::over) {
            pickle_.root_ = stack_.back();
            return std::move(pickle_);
        }
    }
    return ends_early();
}

Result<PickleReader::Step> PickleReader::step(unsigned char opcode) {
    const auto done = [&]() -> Status {
        switch (opcode) {
        case 0x80: // PROTO
            return number(1).has_value() ? Status(ok) : Status(ends_early());
        case 0x95: // FRAME
            return number(8).has_value() ? Status(ok) : Status(ends_early());
        case '(': // MARK
            marks_.push_back(stack_.size());
            return marks_.size() <= Pickle::most_values ? Status(ok) : Status(bad("it has too many values"));
        case 'N':
            return push({});
        case 0x88: // NEWTRUE
            return push({.kind = Kind::boolean, .integer = 1});
        case 0x89: // NEWFALSE
            return push({.kind = Kind::boolean});
        case 'J':
        case 'K':
        case 'M': {
            const auto value = number(opcode == 'J' ? 4 : opcode == 'K' ? 1 : 2);
            return !value ? Status(ends_early())
                   : opcode == 'J'
                       ? push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(*value)))
                       : push_integer(static_cast<std::int64_t>(*value));
        }
        case 0x8a: // LONG1
            return push_long(number(1));
        case 'G': { // BINFLOAT, big-endian
            const auto value = number(8);
            return value
                       ? push({.kind = Kind::real, .real = std::bit_cast<double>(__builtin_bswap64(*value))})
                       : Status(ends_early());
        }
        case 'X': // BINUNICODE
            return push_text(number(4));
        case 0x8c: // SHORT_BINUNICODE
            return push_text(number(1));
        case 0x8d: // BINUNICODE8
            return push_text(number(8));
        case '}':
            return push({.kind = Kind::dictionary});
        case ']':
            return push({.kind = Kind::list});
        case ')':
            return push_tuple(0);
        case 0x85:
        case 0x86:
        case 0x87:
            return push_tuple(opcode - 0x84U);
        case 't':
            return push_from_mark(Kind::list);
        case 'a':
            return stack_.size() < 2 ? Status(bad("it appends to nothing"))
                                     : append(stack_.size() - 1, Kind::list);
        case 'e':
            return append_from_mark(Kind::list);
        case 's':
            return stack_.size() < 3 ? Status(bad("it sets items of nothing"))
                                     : append(stack_.size() - 2, Kind::dictionary);
        case 'u':
            return append_from_mark(Kind::dictionary);
        case 'q':
            return put(number(1));
        case 'r':
            return put(number(4));
        case 0x94: // MEMOIZE
            return put(memo_.size());
        case 'h':
            return get(number(1));
        case 'j':
            return get(number(4));
        case '.':
            return stack_.size() == 1 && marks_.empty() ? Status(ok)
                                                        : Status(bad("it does not end with one value"));
        case 'c':  // GLOBAL
        case 'R':  // REDUCE
        case 'b':  // BUILD
        case 'i':  // INST
        case 'o':  // OBJ
        case 'P':  // PERSID
        case 'Q':  // BINPERSID
        case 0x81: // NEWOBJ
        case 0x82: // EXT1, EXT2, EXT4
        case 0x83:
        case 0x84:
        case 0x92: // NEWOBJ_EX
        case 0x93: // STACK_GLOBAL
            return bad("it has an opcode that runs code");
        default:
            return bad("unknown opcode " + std::to_string(opcode));
        }
    }();
    TRY(done);
    return opcode == '.' ? Step::over : Step::next;
}

Status PickleReader::push(Node node) {
    if (pickle_.nodes_.size() == Pickle::most_values || stack_.size() == Pickle::most_values) {
        return bad("it has too many values");
    }
    stack_.push_back(static_cast<std::uint32_t>(pickle_.nodes_.size()));
    pickle_.nodes_.push_back(std::move(node));
    return ok;
}

// Two's complement, of so many bytes as it needs.
Status PickleReader::push_long(std::optional<std::uint64_t> size) {
    const auto bytes = size ? take(*size) : std::nullopt;
    if (!bytes) {
        return ends_early();
    }
    if (bytes->size() > 8) {
        return bad("it has a number of more than 64 bits");
    }
    auto value = wire::get_little_endian(*bytes);
    const auto bits = 8 * bytes->size();
    if (bits > 0 && bits < 64 && (value >> (bits - 1)) != 0) {
        value |= std::numeric_limits<std::uint64_t>::max() << bits;
    }
    return push_integer(static_cast<std::int64_t>(value));
}

Status PickleReader::push_text(std::optional<std::uint64_t> size) {
    const auto text = size ? take(*size) : std::nullopt;
    return text ? push({.kind = Kind::text, .text = *text}) : Status(ends_early());
}

Status PickleReader::push_tuple(std::size_t count) {
    if (stack_.size() < count) {
        return bad("it makes a tuple of nothing");
    }
    marks_.push_back(stack_.size() - count);
    return push_from_mark(Kind::list);
}

Status PickleReader::push_from_mark(Kind kind) {
    const auto from = mark();
    TRY(from);
    Node node{.kind = kind, .items = {stack_.begin() + static_cast<std::ptrdiff_t>(*from), stack_.end()}};
    stack_.resize(*from);
    return push(std::move(node));
}

// All above `from` into what is below it.
Status PickleReader::append(std::size_t from, Kind kind) {
    if (from == 0 || (!marks_.empty() && marks_.back() >= from)) {
        return bad("it adds to nothing");
    }
    auto& into = pickle_.nodes_[stack_[from - 1]];
    const auto count = stack_.size() - from;
    if (into.kind != kind || (kind == Kind::dictionary && count % 2 != 0)) {
        return bad("it adds to what is no list or dictionary");
    }
    into.items.insert(into.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return ok;
}

Status PickleReader::append_from_mark(Kind kind) {
    const auto from = mark();
    TRY(from);
    return append(*from, kind);
}

Status PickleReader::put(std::optional<std::uint64_t> place) {
    if (!place) {
        return ends_early();
    }
    if (stack_.empty() || *place > memo_.size() + Pickle::most_values / 64 || *place >= Pickle::most_values) {
        return bad("it remembers nothing, or too much");
    }
    if (*place >= memo_.size()) {
        memo_.resize(*place + 1);
    }
    memo_[*place] = stack_.back() + 1;
    return ok;
}

Status PickleReader::get(std::optional<std::uint64_t> place) {
    if (!place) {
        return ends_early();
    }
    if (*place >= memo_.size() || memo_[*place] == 0) {
        return bad("it recalls what it has not remembered");
    }
    if (stack_.size() == Pickle::most_values) {
        return bad("it has too many values");
    }
    stack_.push_back(memo_[*place] - 1);
    return ok;
}

Result<std::size_t> PickleReader::mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) {
        return bad("it has no mark where one belongs");
    }
    const auto from = marks_.back();
    marks_.pop_back();
    return from;
}

std::optional<std::uint64_t> PickleReader::number(std::size_t bytes) {
    const auto text = take(bytes);
    return text ? std::optional(wire::get_little_endian(*text)) : std::nullopt;
}

std::optional<std::string_view> PickleReader::take(std::uint64_t bytes) {
    if (bytes > rest_.size()) {
        return std::nullopt;
    }
    const auto taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
}

PickleValue Pickle::root() const {
    return {*this, nodes_[root_]};
}

std::size_t PickleValue::size() const {
    return node().kind == Pickle::Kind::dictionary ? node().items.size() / 2 : node().items.size();
}

PickleValue PickleValue::of(const std::vector<std::uint32_t>& items, std::size_t index) const {
    static const Pickle::Node nothing{};
    return {*pickle_, index < items.size() ? pickle_->nodes_[items[index]] : nothing};
}

PickleValue PickleValue::at(std::size_t index) const {
    static const std::vector<std::uint32_t> none;
    return of(node().kind == Pickle::Kind::list ? node().items : none, index);
}

PickleValue PickleValue::key(std::size_t index) const {
    return of(node().items, is_dictionary() ? 2 * index : node().items.size());
}

PickleValue PickleValue::value(std::size_t index) const {
    return of(node().items, is_dictionary() ? 2 * index + 1 : node().items.size());
}

PickleValue PickleValue::operator[](std::string_view name) const {
    for (std::size_t i = is_dictionary() ? size() : 0; i > 0; --i) {
        if (key(i - 1).is_text() && key(i - 1).text() == name) {
            return value(i - 1);
        }
    }
    return of({}, 0);
}

} // namespace dockdist
