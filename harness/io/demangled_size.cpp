// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "harness/io/demangle.hpp"
#include "harness/io/mangled_text.hpp"

namespace occbench {
namespace {

/// The part of a substitution or parameter after its S or T: "_", "1A_", "0_".
bool begins_id(char c) { return c == '_' || is_digit(c) || is_upper(c); }

/// Parses a name by the grammar of the Itanium C++ ABI ("External Names") and adds up the length of its
/// demangled form. Parts that substitutions may refer to are stored as lengths. Ambiguities count as the
/// longest alternative.
class NameSize : private MangledText {
 public:
  explicit NameSize(std::string_view name) : MangledText(name) {}

  /// An upper bound of the demangled length; valid if is_known().
  std::uint64_t measure() {
    skip(2);  // _Z
    const std::uint64_t size = encoding();
    const std::size_t suffix = peek() == '.' ? remaining() : 0;  // ".constprop.0"
    skip(suffix);
    if (remaining() > 0) give_up();
    return size + word * suffix;
  }
  using MangledText::is_known;

 private:
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 40;  // sums of a few do not overflow
  static constexpr std::uint64_t word = 20;  // "unsigned long long", "std::basic_string"

  class DepthGuard {
   public:
    explicit DepthGuard(NameSize& walk) : walk_(walk) {
      constexpr int max_depth = 256;
      if (++walk_.depth_ > max_depth) walk_.give_up();
    }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    ~DepthGuard() { --walk_.depth_; }

   private:
    NameSize& walk_;
  };

  std::uint64_t give_up() {
    MangledText::give_up();
    return 0;
  }
  static std::uint64_t cap(std::uint64_t size) { return std::min(size, max_size); }
  std::uint64_t store_part(std::uint64_t size) {
    parts_.push_back(cap(size));
    return parts_.back();
  }

  /// Parts up to and including the E.
  std::uint64_t until_end(auto part) {
    std::uint64_t size = 0;
    while (is_known() && !take("E")) size = cap(size + (this->*part)() + 2);
    return size;
  }

  std::uint64_t encoding() {
    const DepthGuard guard(*this);
    // The name defines the template parameters of the signature.
    const bool was_frozen = std::exchange(is_frozen_, false);
    const std::vector<std::uint64_t> outer = arguments_;
    std::uint64_t size = name();
    is_frozen_ = true;
    while (is_known() && remaining() > 0 && peek() != 'E' && peek() != '.') size = cap(size + type() + 2);
    is_frozen_ = was_frozen;
    arguments_ = outer;
    return size;
  }

  std::uint64_t name() {
    const DepthGuard guard(*this);
    if (take("N")) return nested_name();
    if (take("Z")) return local_name();
    if (peek() == 'S' && peek(1) != 't') {
      const std::uint64_t size = substitution();
      return peek() == 'I' ? size + template_args() : size;
    }
    const std::uint64_t scope = take("St") ? word : 0;
    const std::uint64_t size = scope + unqualified_name();
    return peek() == 'I' ? store_part(size) + template_args() : size;
  }

  std::uint64_t nested_name() {
    while (peek() == 'r' || peek() == 'V' || peek() == 'K' || peek() == 'R' || peek() == 'O') skip();
    std::uint64_t size = word;
    while (is_known() && !take("E")) {
      const char first = peek();
      if (first == 'S') {
        size += take("St") ? word : substitution();
      } else if (first == 'I') {
        size += template_args();
      } else if (first == 'T') {
        size += template_param();
      } else if (first == 'D' && (peek(1) == 't' || peek(1) == 'T')) {
        size += type();
      } else if (first == 'M') {
        skip();
        continue;
      } else {
        size += unqualified_name();
      }
      size += 2;
      if (first != 'S' && peek() != 'E') size = store_part(size);
    }
    return cap(size);
  }

  std::uint64_t local_name() {
    std::uint64_t size = encoding() + word;
    expect("E");
    if (take("s")) {
      discriminator();
      return size;
    }
    if (take("d")) {
      skip_digits();
      expect("_");
    }
    size += name();
    discriminator();
    return cap(size);
  }

  void discriminator() {
    if (peek() != '_') return;
    skip(peek(1) == '_' ? 2 : 1);
    skip_digits();
    if (peek() == '_') skip();
  }

  std::uint64_t source_name() {
    const std::size_t size = number();
    if (size == 0 || size > remaining()) return give_up();
    skip(size);
    return size;
  }

  std::uint64_t unqualified_name() {
    std::uint64_t size = 0;
    if (is_digit(peek())) {
      size = source_name();
    } else if (take("L")) {
      size = source_name();
      discriminator();
    } else if (take("Ul")) {
      size = word + until_end(&NameSize::type);
      skip_digits();
      expect("_");
    } else if (take("Ut")) {
      size = word;
      skip_digits();
      expect("_");
      store_part(size);
    } else if ((peek() == 'C' || peek() == 'D') && is_digit(peek(1))) {
      skip(2);
      size = length();  // the name of its class
    } else if (is_lower(peek()) && !take("cv") && !take("li")) {
      skip(2);
      size = word;
    } else {
      return give_up();
    }
    while (take("B")) size += source_name() + word;
    return size;
  }

  /// S_, S1A_, Sa
  std::uint64_t substitution() {
    expect("S");
    if (!begins_id(peek())) {
      if (!is_lower(peek())) return give_up();
      skip();
      std::uint64_t size = 4 * word;
      if (peek() != 'B') return size;
      while (take("B")) size += source_name() + word;
      return store_part(size);
    }
    const std::size_t id = sequence_id();
    expect("_");
    return id < parts_.size() ? parts_[id] : give_up();
  }

  /// T_, T12_
  std::uint64_t template_param() {
    expect("T");
    std::size_t id = 0;
    if (is_digit(peek())) id = number() + 1;
    expect("_");
    return word + (is_frozen_ && id < arguments_.size() ? arguments_[id] : argument_);
  }

  std::uint64_t template_args() {
    const DepthGuard guard(*this);
    if (!take("I") && !take("J")) return give_up();
    std::uint64_t size = 2;
    std::vector<std::uint64_t> own;
    while (is_known() && !take("E")) {
      std::uint64_t argument = 0;
      if (take("X")) {
        argument = expression();
        expect("E");
      } else if (peek() == 'L') {
        argument = literal();
      } else if (peek() == 'I' || peek() == 'J') {
        argument = template_args();
      } else {
        argument = type();
      }
      argument_ = std::max(argument_, argument);
      own.push_back(argument);
      size = cap(size + argument + 2);
    }
    longest_pack_ = std::max<std::uint64_t>(longest_pack_, own.size());
    if (!is_frozen_) arguments_ = std::move(own);  // the last list belongs to the name itself
    return size;
  }

  std::uint64_t type() {
    const DepthGuard guard(*this);
    const auto is_qualifier = [&] {
      return peek() == 'r' || peek() == 'V' || peek() == 'K' ||
             (peek() == 'D' && (peek(1) == 'o' || peek(1) == 'x'));
    };
    if (is_qualifier()) {
      std::uint64_t size = 0;
      for (; is_qualifier(); size += word) skip(peek() == 'D' ? 2 : 1);
      return store_part(size + (take("F") ? function() : type()));
    }
    switch (peek()) {
      case 'F':
        skip();
        return store_part(function());
      case 'A':
        return store_part(array());
      case 'M': {
        skip();
        const std::uint64_t of = type();
        return store_part(of + type() + word);
      }
      case 'T': {
        const std::uint64_t size = template_param();
        return store_part(peek() == 'I' ? store_part(size) + template_args() : size);
      }
      case 'P':
      case 'R':
      case 'O':
      case 'C':
      case 'G':
        skip();
        return store_part(type() + word);
      case 'U': {
        skip();
        const std::uint64_t qualifier = source_name() + (peek() == 'I' ? template_args() : 0);
        return store_part(qualifier + type() + 2);
      }
      case 'u':
        skip();
        return store_part(source_name() + (peek() == 'I' ? template_args() : 0));
      case 'D':
        return type_of_two_letters();
      case 'S':
        if (begins_id(peek(1))) {
          const std::uint64_t size = substitution();
          return peek() == 'I' ? store_part(size + template_args()) : size;
        }
        if (peek(1) != 't' && peek(2) != 'I') return substitution();
        return store_part(name());
      case 'N':
      case 'Z':
        return store_part(name());
      default:
        if (is_digit(peek())) return store_part(name());
        if (!is_lower(peek())) return give_up();
        skip();
        return word;
    }
  }

  std::uint64_t function() {
    take("Y");
    std::uint64_t size = word;
    while (is_known() && !take("E")) {
      if ((peek() == 'R' || peek() == 'O') && peek(1) == 'E') skip();
      if (peek() != 'E') size = cap(size + type() + 2);
    }
    return size;
  }

  std::uint64_t array() {
    expect("A");
    std::uint64_t size = word;
    if (is_digit(peek()))
      skip_digits();
    else if (peek() != '_')
      size += expression();
    expect("_");
    return cap(size + type() + length());
  }

  std::uint64_t type_of_two_letters() {
    if (take("Dt") || take("DT")) {
      const std::uint64_t size = expression() + word;
      expect("E");
      return store_part(size);
    }
    if (take("Dp")) return store_part(expand_pack(type()));
    if (take("Dv")) {
      if (is_digit(peek()))
        skip_digits();
      else
        return give_up();
      expect("_");
      return store_part(type() + length());
    }
    if (take("DF")) {
      skip_digits();
      if (peek() != '_' && peek() != 'b' && peek() != 'x') return give_up();
      skip();
      return word;
    }
    if (std::string_view("acdefhinsu").find(peek(1)) == std::string_view::npos || peek(1) == '\0')
      return give_up();
    skip(2);
    return word;
  }

  /// A pattern, repeated for each element of a pack.
  [[nodiscard]] std::uint64_t expand_pack(std::uint64_t pattern) const {
    return cap((cap(pattern) + 2) * std::min<std::uint64_t>(longest_pack_ + 1, 1 << 20));
  }

  std::uint64_t literal() {
    expect("L");
    if (take("_Z") || take("Z")) {
      const std::uint64_t size = encoding();
      expect("E");
      return size;
    }
    std::uint64_t size = type() + 4;
    for (; is_known() && peek() != 'E'; ++size) {
      if (remaining() == 0) return give_up();
      skip();
    }
    expect("E");
    return size;
  }

  std::uint64_t name_with_args() {
    const std::uint64_t size = unqualified_name();
    return peek() == 'I' ? size + template_args() : size;
  }

  std::uint64_t expression() {
    const DepthGuard guard(*this);
    const auto is = [&](std::string_view codes) {  // of two letters each
      for (std::size_t i = 0; i < codes.size(); i += 3)
        if (take(codes.substr(i, 2))) return true;
      return false;
    };
    std::uint64_t size = word;
    if (peek() == 'L') return literal();
    if (peek() == 'T') return template_param();
    if (is_digit(peek())) return name_with_args();
    if (take("on")) return name_with_args();
    if (take("sr")) {
      size += type();
      return cap(size + name_with_args());
    }
    if (take("sp")) return expand_pack(expression());
    if (take("fp")) {
      skip_digits();
      expect("_");
      return word;
    }
    if (is("st at ti")) return size + type();
    if (is("il")) return size + until_end(&NameSize::expression);
    if (take("tl") || take("cv") || is("dc sc cc rc")) {
      const bool is_list = behind(2) == "tl";
      size += type();
      if (is_list || take("_")) return cap(size + until_end(&NameSize::expression));
      return cap(size + expression());
    }
    if (take("cl")) return cap(size + until_end(&NameSize::expression));
    if (is("dt pt")) {
      size += expression();
      return cap(size + name_with_args());
    }
    if (is("ad de ng nt co sz nx sZ te")) return cap(size + expression());
    if (is("pp mm")) {
      take("_");
      return cap(size + expression());
    }
    int operands = 2;
    if (is("fl fr")) {
      operands = 1;
      skip(2);
    } else if (is("qu")) {
      operands = 3;
    } else if (!is("pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss aa "
                   "oo cm pm ix")) {
      return give_up();
    }
    while (operands-- > 0) size = cap(size + expression());
    return size;
  }

  int depth_ = 0;
  std::vector<std::uint64_t> parts_;      ///< lengths of the parts that a substitution can refer to
  std::vector<std::uint64_t> arguments_;  ///< of the current template
  std::uint64_t argument_ = 0;            ///< the longest of all arguments
  std::uint64_t longest_pack_ = 0;
  bool is_frozen_ = false;
};

/// For unknown grammar: each substitution at most doubles the length.
std::optional<std::uint64_t> doubled_size(std::string_view mangled) {
  constexpr std::size_t max_references = 9;
  std::size_t references = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i)
    references += ((mangled[i] == 'S' || mangled[i] == 'T') && begins_id(mangled[i + 1])) ||
                  mangled.substr(i, 2) == "Dp" || mangled.substr(i, 2) == "sp";
  if (references > max_references) return std::nullopt;
  return mangled.size() << references;
}

}  // namespace

std::optional<std::uint64_t> max_demangled_size(std::string_view mangled) {
  NameSize name(mangled);
  const std::uint64_t size = name.measure();
  return name.is_known() ? size : doubled_size(mangled);
}

}  // namespace occbench
