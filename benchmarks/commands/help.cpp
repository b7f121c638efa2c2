// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

namespace occbench::commands {

namespace {

constexpr std::size_t columns = 80;

/// Prints the words of `text` from column `indent` on; a line feed begins a paragraph. `out` is in column
/// `at`.
void print_text(std::ostream& out, const std::string& text, std::size_t indent, std::size_t at) {
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph); at = 0) {
    if (at < indent) out << std::string(indent - at, ' ');
    at = indent;
    std::istringstream words(paragraph);
    for (std::string word; words >> word;) {
      if (at > indent && at + 1 + word.size() > columns) {
        out << '\n' << std::string(indent, ' ');
        at = indent;
      }
      if (at > indent) out << ' ';
      out << word;
      at += word.size() + (at > indent);
    }
    out << '\n';
  }
}

void print_row(std::ostream& out, const std::string& left, const std::string& right, std::size_t indent) {
  out << "  " << left;
  if (left.size() + 4 > indent) {
    out << '\n';
    print_text(out, right, indent, 0);
  } else {
    print_text(out, right, indent, 2 + left.size());
  }
}

/// "-h, --help", "--format FORMAT", "SHELL"
std::string name_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string name;
  for (const std::string& s : option.get_snames()) name += (name.empty() ? "-" : ", -") + s;
  for (const std::string& l : option.get_lnames()) name += (name.empty() ? "--" : ", --") + l;
  if (option.get_items_expected_max() == 0) return name;  // a flag
  const std::string type = option.get_type_name();
  return name + ' ' + type.substr(0, type.find(':'));
}

std::string text_of(const CLI::Option& option) {
  const std::string set = option.get_default_str();
  return option.get_description() + (set.empty() ? "" : " (default: " + set + ")");
}

void print_options(std::ostream& out, const CLI::App& app, const CLI::Option* but = nullptr) {
  for (const CLI::Option* option : app.get_options())
    if (option != but) print_row(out, name_of(*option), text_of(*option), 27);
}

/// The commands in its footer.
std::string examples_of(const CLI::App& app) {
  std::istringstream footer(app.get_footer());
  std::string examples;
  for (std::string line; std::getline(footer, line);)
    if (line.starts_with("  occbench ")) examples += "  $" + line.substr(1) + '\n';
  return examples;
}

class Help : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override;
};

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const bool of_all = mode == CLI::AppFormatMode::All;
  const auto heading = [&](const std::string& text) { return '\n' + text + (of_all ? ":\n" : "\n"); };
  std::ostringstream out;
  print_text(out, app->get_description() + '.', 0, 0);
  const auto commands =
      app->get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  out << "\nUsage: " << name << (commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]");
  for (const CLI::Option* option : app->get_options())
    if (option->get_positional()) out << ' ' << name_of(*option);
  out << (app->get_footer().find(" -- ") == std::string::npos ? "\n" : " -- COMMAND...\n");

  std::vector<std::string> groups;
  for (const CLI::App* command : commands)
    if (std::ranges::find(groups, command->get_group()) == groups.end())
      groups.push_back(command->get_group());
  for (const std::string& group : groups) {
    out << heading(group);
    for (const CLI::App* command : commands)
      if (command->get_group() == group) print_row(out, command->get_name(), command->get_description(), 16);
  }

  out << heading("Options");
  print_options(out, *app);
  if (of_all)
    for (const CLI::App* command : commands)
      if (command->get_options().size() > 1) {  // more than --help
        out << heading("Options of " + command->get_name());
        print_options(out, *command, command->get_help_ptr());
      }
  if (of_all) {
    out << heading("Examples") << examples_of(*app);
    for (const CLI::App* command : commands) out << examples_of(*command);
  } else if (!app->get_footer().empty()) {
    out << '\n' << app->get_footer() << '\n';
  }
  return out.str();
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Help>(); }

}  // namespace occbench::commands
