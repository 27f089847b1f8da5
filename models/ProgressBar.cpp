// Draws the progress bar.
// SPDX-License-Identifier: Apache-2.0
#include "models/ProgressBar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recurra {
namespace {

constexpr const char *kClearLine = "\r\x1b[2K";

std::string spellTime(double seconds) {
  const long whole = std::lround(std::clamp(seconds, 0.0, 1e8));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600,
                  whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  }
  return text;
}

/// Columns of the terminal; a wrapped line could not be redrawn.
int terminalColumns() {
  winsize size{};
  const bool known =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string spellBar(double fraction, int cells) {
  const int full = int(std::clamp(fraction, 0.0, 1.0) * cells);
  std::string bar;
  for (int i = 0; i < cells; ++i) {
    bar += i < full ? "█" : "░";
  }
  return bar;
}

} // namespace

ProgressBar::ProgressBar(int64_t totalSteps, bool quiet)
    : total(totalSteps), quiet(quiet), terminal(isatty(STDERR_FILENO)),
      lastShown(Clock::now()) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::finish() {
  if (drawn) {
    std::fputs("\n", stderr);
    drawn = false;
  }
}

std::string ProgressBar::render(const Status &status) const {
  const double fraction = double(status.step) / double(total);
  char text[160];
  std::snprintf(text, sizeof text, "%3.0f%%  step %lld/%lld  loss %.4f",
                100 * fraction, (long long)status.step, (long long)total,
                status.loss);
  std::string line = text;
  if (status.accuracy >= 0) {
    std::snprintf(text, sizeof text, "  accuracy %.1f%%",
                  100 * status.accuracy);
    line += text;
  }
  std::snprintf(text, sizeof text, "  %.1fk tokens/s  %s left",
                status.tokensPerSecond / 1000,
                spellTime(status.secondsLeft).c_str());
  line += text;
  const int cells = std::min(24, terminalColumns() - int(line.size()) - 2);
  return terminal && cells > 3 ? spellBar(fraction, cells) + " " + line : line;
}

void ProgressBar::show(const Status &status, bool important) {
  const auto pause = terminal ? std::chrono::milliseconds(100)
                              : std::chrono::milliseconds(5000);
  const Clock::time_point now = Clock::now();
  if (quiet || (!important && now - lastShown < pause)) {
    return;
  }
  lastShown = now;
  const std::string line = render(status);
  if (terminal) {
    std::fprintf(stderr, "%s%s", kClearLine, line.c_str());
    drawn = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

void ProgressBar::note(const std::string &line) {
  if (!quiet) {
    std::fprintf(stderr, "%s%s\n", drawn ? kClearLine : "", line.c_str());
    drawn = false;
  }
}

} // namespace recurra
