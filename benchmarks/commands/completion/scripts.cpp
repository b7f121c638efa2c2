// SPDX-License-Identifier: Apache-2.0
// A script per shell: a fixed part, and tables of commands, options and values.
#include <ostream>

#include "benchmarks/commands/completion/completion.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::commands {

namespace {

template <class Words>
std::string join(const Words& words, const char* between = " ") {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

/// Puts `prefix` before each of `special`.
std::string escape(const std::string& text, std::string_view special, const std::string& prefix = "\\") {
  std::string all;
  for (const char c : text) all += (special.find(c) != std::string_view::npos ? prefix : "") + c;
  return all;
}

std::string head(const char* shell) {
  return std::string("# Completion of occbench in ") + shell + ", as `occbench completion " + shell +
         "` prints it.\n";
}

}  // namespace

void write_bash(std::ostream& out, std::span<const CompletedCommand> commands) {
  // For each command a row of its words and one of its options, and one for the values of each option.
  out << head("bash") << "_occbench_words() {\n  case $1 in\n";
  for (const CompletedCommand& command : commands) {
    std::vector<std::string> options;
    for (const CompletedOption& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.value.kind == OptionValue::Kind::nothing) continue;
      std::vector<std::string> keys;
      for (const std::string& name : option.names) keys.push_back(shell_quote(command.name + " " + name));
      const std::string value = option.value.kind == OptionValue::Kind::file     ? "FILE"
                                : option.value.kind == OptionValue::Kind::folder ? "FOLDER"
                                                                                 : join(option.value.words);
      out << "    " << join(keys, " | ") << ") echo "
          << shell_quote((option.value.is_list ? "LIST " : "VALUE ") + value) << " ;;\n";
    }
    out << "    " << shell_quote(command.name) << ") echo "
        << shell_quote(command.is_external ? "FILE" : join(command.words)) << " ;;\n";
    out << "    " << shell_quote(command.name + " -") << ") echo " << shell_quote(join(options)) << " ;;\n";
  }
  out << R"sh(  esac
}

_occbench() {
  local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} words command= current previous offered typed= done
  read -ra words <<<"$line"
  while ((${#words[@]})) && [[ ${words[0]} != "${COMP_WORDS[0]}" ]]; do words=("${words[@]:1}"); done
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[-1]} previous=${words[-2]}
  ((${#words[@]} > 2)) && command=${words[1]}
  if [[ $command && $current == --*=* ]]; then  # --option=value
    previous=${current%%=*} current=${current#*=}
  fi
  offered=$(_occbench_words "$command $previous")
  case $offered in
    'LIST '*) [[ $current == *,* ]] && typed=${current%,*}, ; compopt -o nospace 2>/dev/null ;;
    'VALUE '*) ;;
    *)
      offered="VALUE $(_occbench_words "$command")"
      [[ $current != -* && $offered != 'VALUE ' ]] || offered="VALUE $(_occbench_words "$command -")"
      ;;
  esac
  offered=${offered#* }
  case $offered in
    FILE) mapfile -t COMPREPLY < <(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
    FOLDER) mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$offered" -P "$typed" -- "${current:${#typed}}") ;;
  esac
  # Of `model:h200` bash replaces what follows the colon alone.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    done=${current%"${current##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$done"}")
  fi
}
complete -F _occbench occbench
)sh";
}

void write_zsh(std::ostream& out, std::span<const CompletedCommand> commands) {
  const auto escape_help = [](const std::string& help) { return escape(help, "[]:\\"); };
  out << "#compdef occbench\n" << head("zsh") << "_occbench() {\n  local -a commands=(\n";
  for (const CompletedCommand& command : commands.subspan(1))
    out << "    " << shell_quote(escape(command.name, ":\\") + ":" + command.help) << '\n';
  out << R"sh(  )
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
  fi
  local word=
  if ((CURRENT > 2)); then
    word=$words[2]
    shift words
    ((CURRENT--))
  fi
  case $word in
)sh";
  for (const CompletedCommand& command : commands) {
    out << "    " << shell_quote(command.name) << ")";
    if (command.is_external) {
      out << " _files ;;\n";
      continue;
    }
    out << " _arguments";
    for (const CompletedOption& option : command.options) {
      const OptionValue& value = option.value;
      const std::string words = join(value.words);
      std::string takes;
      if (value.kind != OptionValue::Kind::nothing)
        takes = "=[" + escape_help(option.help) + "]:value:" +
                (value.kind == OptionValue::Kind::file     ? "_files"
                 : value.kind == OptionValue::Kind::folder ? "_files -/"
                 : words.empty()                           ? " "
                 : value.is_list                           ? "_sequence compadd - " + words
                                                           : "(" + escape(words, ":\\") + ")");
      else
        takes = "[" + escape_help(option.help) + "]";
      for (const std::string& name : option.names)
        out << " \\\n      " << shell_quote("(" + join(option.names) + ")" + name + takes);
    }
    if (!command.words.empty() && !command.name.empty())
      out << " \\\n      " << shell_quote("1:word:(" + join(command.words) + ")");
    out << " ;;\n";
  }
  out << R"sh(  esac
}
if [[ $funcstack[1] == _occbench ]]; then _occbench "$@"; else compdef _occbench occbench; fi
)sh";
}

void write_fish(std::ostream& out, std::span<const CompletedCommand> commands) {
  const auto literal = [](const std::string& text) { return "'" + escape(text, "'\\") + "'"; };
  out << head("fish") << "complete -c occbench -f\n";
  for (const CompletedCommand& command : commands) {
    const std::string here = "complete -c occbench -n " +
                             literal(command.name.empty() ? "__fish_use_subcommand"
                                                          : "__fish_seen_subcommand_from " + command.name);
    if (!command.name.empty())
      out << "complete -c occbench -n __fish_use_subcommand -a " << command.name << " -d "
          << literal(command.help) << '\n';
    if (command.is_external) out << here << " -F\n";
    if (!command.words.empty() && !command.name.empty())
      out << here << " -a " << literal(join(command.words)) << '\n';
    for (const CompletedOption& option : command.options) {
      out << here;
      for (const std::string& name : option.names)
        out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      const OptionValue& value = option.value;
      if (value.kind == OptionValue::Kind::file) out << " -r -F";
      if (value.kind == OptionValue::Kind::folder) out << " -x -a '(__fish_complete_directories)'";
      if (value.kind == OptionValue::Kind::words) out << " -x";
      if (!value.words.empty())
        out << " -a "
            << literal(value.is_list ? "(__fish_append , " + join(value.words) + ")" : join(value.words));
      out << " -d " << literal(option.help) << '\n';
    }
  }
}

}  // namespace occbench::commands
