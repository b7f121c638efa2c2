// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/ptx.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <set>

namespace occbench::attach {

namespace {

constexpr auto npos = std::string_view::npos;

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

/// Replaces comments and quoted text by blanks, so that offsets stay the same.
std::string without_comments(std::string_view ptx) {
  std::string text(ptx);
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    std::size_t end = 0;
    if (rest.starts_with("//"))
      end = rest.find('\n');
    else if (rest.starts_with("/*"))
      end = rest.find("*/", 2) == npos ? npos : rest.find("*/", 2) + 2;
    else if (rest.starts_with('"'))
      end = rest.find('"', 1) == npos ? npos : rest.find('"', 1) + 1;
    else {
      ++at;
      continue;
    }
    end = std::min(end, rest.size());
    std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), end, ' ');
    at += end;
  }
  return text;
}

/// A module-level statement: a declaration, or a function with its body.
struct Statement {
  std::size_t begin = 0, body = npos, end = 0;  ///< `body`: its opening brace
};

std::vector<Statement> statements(std::string_view text) {
  std::vector<Statement> found;
  Statement now;
  int depth = 0;
  const auto finish = [&](std::size_t end) {
    now.end = end;
    found.push_back(now);
    now = {.begin = end};
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' && depth++ == 0) {
      const std::string_view head = text.substr(now.begin, at - now.begin);
      if (head.find(".entry") != npos || head.find(".func") != npos) now.body = at;
    } else if (c == '}' && depth > 0 && --depth == 0 && now.body != npos) {
      finish(at + 1);
    } else if (c == ';' && depth == 0) {
      finish(at + 1);
    }
  }
  return found;
}

/// The identifiers in the text, without numbers and names after a point.
std::set<std::string_view> names_in(std::string_view text) {
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_of_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_of_word(text[end])) ++end;
    const bool is_directive = at > 0 && text[at - 1] == '.';
    if (!is_directive && std::isdigit(static_cast<unsigned char>(text[at])) == 0)
      names.insert(text.substr(at, end - at));
    at = end;
  }
  return names;
}

std::string_view name_after(std::string_view text, std::string_view directive) {
  std::size_t at = text.find(directive);
  if (at == npos) return {};
  at += directive.size();
  while (at < text.size() && !is_of_word(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && is_of_word(text[end])) ++end;
  return text.substr(at, end - at);
}

/// The position after the result of ".func (.param .b32 result) name(...)".
std::string_view name_of_function(std::string_view head) {
  head.remove_prefix(std::min(head.find(".func") + 5, head.size()));
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != npos && head[first] == '(') head.remove_prefix(std::min(head.find(')') + 1, head.size()));
  std::size_t at = 0;
  while (at < head.size() && !is_of_word(head[at])) ++at;
  std::size_t end = at;
  while (end < head.size() && is_of_word(head[end])) ++end;
  return head.substr(at, end - at);
}

bool uses_any(std::string_view body, const std::set<std::string_view>& names) {
  const std::set<std::string_view> used = names_in(body);
  return std::ranges::any_of(used, [&](std::string_view name) { return names.contains(name); });
}

struct Module {
  std::string text;
  std::vector<Statement> kernels;  ///< may run from another copy
};

Module parse(std::string_view ptx) {
  Module m{.text = without_comments(ptx), .kernels = {}};
  const std::string_view text = m.text;
  std::set<std::string_view> own, declared,
      defined;  // own: names of this copy only, and functions that use them
  std::vector<Statement> functions, kernels;
  const auto name_of = [&](const Statement& f) {
    return name_of_function(text.substr(f.begin, std::min(f.body, f.end) - f.begin));
  };
  for (const Statement& s : statements(text)) {
    const std::string_view head = text.substr(s.begin, std::min(s.body, s.end) - s.begin);
    if (head.find(".alias") != npos) return m;
    if (head.find(".entry") != npos) {
      if (s.body != npos) kernels.push_back(s);
    } else if (head.find(".func") != npos) {
      (s.body == npos ? declared : defined).insert(name_of(s));
      if (s.body != npos) functions.push_back(s);
    } else if (head.find(".shared") == npos) {
      for (const char* space : {".global", ".const", ".texref", ".surfref", ".samplerref"})
        if (head.find(space) != npos) own.merge(names_in(head));
    }
  }
  std::ranges::set_difference(declared, defined, std::inserter(own, own.end()));  // not defined here
  const auto uses_own = [&](const Statement& s) {
    return uses_any(text.substr(s.body, s.end - s.body), own);
  };
  for (bool grows = true; grows;) {
    grows = false;
    for (const Statement& f : functions)
      if (!own.contains(name_of(f)) && uses_own(f)) grows = own.insert(name_of(f)).second;
  }
  for (const Statement& k : kernels)
    if (!uses_own(k)) m.kernels.push_back(k);
  return m;
}

}  // namespace

bool is_ptx(std::string_view text) {
  constexpr std::size_t look = 4096;
  const std::string begin = without_comments(text.substr(0, look));
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string::npos && std::string_view(begin).substr(first).starts_with(".version");
}

std::vector<std::string> kernels_without_variables(std::string_view ptx) {
  const Module m = parse(ptx);
  std::vector<std::string> names;
  for (const Statement& k : m.kernels)
    names.emplace_back(name_after(std::string_view(m.text).substr(k.begin, k.body - k.begin), ".entry"));
  return names;
}

std::string with_register_cap(std::string_view ptx, int cap) {
  const Module m = parse(ptx);
  std::string capped;
  std::size_t from = 0;
  for (const Statement& k : m.kernels) {
    const std::string_view head = std::string_view(m.text).substr(k.begin, k.body - k.begin);
    if (const std::size_t had = head.find(".maxnreg"); had != npos) {
      std::size_t end = k.begin + had + std::string_view(".maxnreg").size();
      while (end < k.body && !is_of_word(m.text[end])) ++end;
      while (end < k.body && is_of_word(m.text[end])) ++end;
      capped += ptx.substr(from, k.begin + had - from);
      from = end;
    }
    capped += ptx.substr(from, k.body - from);
    capped += ".maxnreg " + std::to_string(cap) + "\n";
    from = k.body;
  }
  capped += ptx.substr(from);
  return capped;
}

std::vector<std::string> kernels_of(std::string_view ptx) {
  std::vector<std::string> kernels;
  for (std::size_t at = ptx.find(".entry"); at != npos; at = ptx.find(".entry", at + 1))
    kernels.emplace_back(name_after(ptx.substr(at), ".entry"));
  return kernels;
}

std::vector<std::string> kernels_that_ask_for_smem(std::string_view ptx) {
  const auto asks = [](std::string_view body) {
    return body.find("%dynamic_smem_size") != npos || body.find("%total_smem_size") != npos;
  };
  if (!asks(ptx)) return {};
  const std::string text = without_comments(ptx);
  std::vector<std::string> kernels;
  std::set<std::string_view> askers;  // functions that read a size
  for (std::size_t known = npos; known != askers.size();) {
    known = askers.size();
    kernels.clear();
    for (const Statement& s : statements(text)) {
      if (s.body == npos) continue;
      const std::string_view head = std::string_view(text).substr(s.begin, s.body - s.begin);
      const std::string_view body = std::string_view(text).substr(s.body, s.end - s.body);
      if (!asks(body) && !uses_any(body, askers)) continue;
      if (head.find(".entry") != npos)
        kernels.emplace_back(name_after(head, ".entry"));
      else
        askers.insert(name_of_function(head));
    }
  }
  return kernels;
}

int target_of(std::string_view ptx) {
  const std::string text = without_comments(ptx.substr(0, std::min<std::size_t>(ptx.size(), 1 << 16)));
  const std::string_view name = name_after(text, ".target");
  int target = 0;
  if (name.starts_with("sm_")) std::from_chars(name.data() + 3, name.data() + name.size(), target);
  return target;
}

}  // namespace occbench::attach
