// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/condition.hpp"

#include <cctype>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace occbench::commands {

struct Condition::Node {
  enum class Kind { name, number, unknown, compare, negation, conjunction, disjunction };
  Kind kind = Kind::unknown;
  std::string word = {};  ///< a name, or the operator of a comparison
  double number = 0;
  std::unique_ptr<const Node> left = nullptr, right = nullptr;

  [[nodiscard]] std::optional<double> value(const Lookup& lookup) const {
    if (kind == Kind::name) return lookup(word);
    return kind == Kind::number ? std::optional(number) : std::nullopt;
  }

  [[nodiscard]] bool is_true(const Lookup& lookup) const {
    switch (kind) {
      case Kind::negation:
        return !left->is_true(lookup);
      case Kind::conjunction:
        return left->is_true(lookup) && right->is_true(lookup);
      case Kind::disjunction:
        return left->is_true(lookup) || right->is_true(lookup);
      default:
        break;
    }
    const std::optional<double> a = left->value(lookup), b = right->value(lookup);
    if (left->kind == Kind::unknown || right->kind == Kind::unknown) return (a == b) == (word == "==");
    if (!a || !b) return false;
    if (word == "<") return *a < *b;
    if (word == "<=") return *a <= *b;
    if (word == ">") return *a > *b;
    if (word == ">=") return *a >= *b;
    return (*a == *b) == (word == "==");
  }
};

namespace {

using Node = Condition::Node;
using Owned = std::unique_ptr<const Node>;

/// Recursive descent; each operator calls the next that binds more tightly.
class Parser {
 public:
  Parser(const std::string& text, const std::function<void(const std::string&)>& check_name)
      : text_(text), rest_(text), check_name_(check_name) {
    constexpr std::size_t max_size = 2000;
    if (text.size() > max_size) throw std::invalid_argument("a condition has at most 2,000 characters");
    advance();
  }

  Owned parse() {
    Owned node = parse_or();
    if (!word_.empty()) fail("'and', 'or' or the end");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::invalid_argument("condition '" + text_ + "': expected " + expected +
                                (word_.empty() ? " at its end" : ", not '" + word_ + "'"));
  }

  /// The next word, operator or parenthesis; empty at the end.
  void advance() {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
    std::size_t size = rest_.empty() ? 0 : 1;
    if (!rest_.empty() && is_word(rest_.front()))
      while (size < rest_.size() && is_word(rest_[size])) ++size;
    else if (rest_.size() > 1 && rest_[1] == '=')
      size = 2;
    word_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  bool accept(std::string_view word) {
    if (word_ != word) return false;
    advance();
    return true;
  }

  Owned parse_chain(Node::Kind kind, std::string_view word, Owned (Parser::*next)()) {
    Owned node = (this->*next)();
    while (accept(word))
      node = std::make_unique<Node>(Node{.kind = kind, .left = std::move(node), .right = (this->*next)()});
    return node;
  }
  Owned parse_or() { return parse_chain(Node::Kind::disjunction, "or", &Parser::parse_and); }
  Owned parse_and() { return parse_chain(Node::Kind::conjunction, "and", &Parser::parse_not); }

  Owned parse_not() {
    constexpr int max_depth = 100;
    if (++depth_ > max_depth) throw std::invalid_argument("the condition is nested deeper than 100 levels");
    Owned node;
    if (accept("not")) {
      node = std::make_unique<Node>(Node{.kind = Node::Kind::negation, .left = parse_not()});
    } else if (accept("(")) {
      node = parse_or();
      if (!accept(")")) fail("')'");
    } else {
      Owned left = parse_operand();
      std::string comparison = word_;
      if (comparison != "<" && comparison != "<=" && comparison != ">" && comparison != ">=" &&
          comparison != "==" && comparison != "!=")
        fail("one of < <= > >= == !=");
      advance();
      Owned right = parse_operand();
      const bool is_unknown = left->kind == Node::Kind::unknown || right->kind == Node::Kind::unknown;
      if (is_unknown && comparison != "==" && comparison != "!=")
        throw std::invalid_argument("condition '" + text_ + "': unknown is compared by == or !=, not " +
                                    comparison);
      node = std::make_unique<Node>(Node{.kind = Node::Kind::compare,
                                         .word = std::move(comparison),
                                         .left = std::move(left),
                                         .right = std::move(right)});
    }
    --depth_;
    return node;
  }

  Owned parse_operand() {
    Node node;
    const char first = word_.empty() ? ' ' : word_.front();
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') {
      const auto [end, error] = std::from_chars(word_.data(), word_.data() + word_.size(), node.number);
      if (error != std::errc() || end != word_.data() + word_.size()) fail("a number");
      node.kind = Node::Kind::number;
    } else if (std::isalpha(static_cast<unsigned char>(first)) != 0) {
      if (word_ != "unknown") {
        check_name_(word_);
        node.kind = Node::Kind::name;
        node.word = word_;
      }
    } else {
      fail("a column or a number");
    }
    advance();
    return std::make_unique<Node>(std::move(node));
  }

  const std::string text_;
  std::string_view rest_;
  std::string word_;
  const std::function<void(const std::string&)>& check_name_;
  int depth_ = 0;
};

}  // namespace

Condition::Condition(const std::string& text, const std::function<void(const std::string&)>& check_name)
    : root_(Parser(text, check_name).parse()) {}
Condition::Condition(Condition&&) noexcept = default;
Condition::~Condition() = default;

bool Condition::is_true(const Lookup& lookup) const { return root_->is_true(lookup); }

}  // namespace occbench::commands
