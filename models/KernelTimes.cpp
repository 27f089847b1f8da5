// The face of torch's profiler.
// SPDX-License-Identifier: Apache-2.0
#include "models/KernelTimes.h"

#include "models/Moment.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <map>
#include <set>

namespace recurra {

std::vector<KernelTime> profileKernels(c10::Device device,
                                       const std::function<void()> &body) {
  namespace profiler = torch::autograd::profiler;
  using torch::profiler::impl::ActivityType;
  std::set<ActivityType> activities = {ActivityType::CPU};
  if (device.is_cuda()) {
    activities.insert(ActivityType::CUDA);
  }
  const torch::profiler::impl::ProfilerConfig config(
      torch::profiler::impl::ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  body();
  Moment(device).wait();
  const auto result = profiler::disableProfiler();

  std::map<std::string, KernelTime> byName;
  for (const auto &event : result->events()) {
    if (event.deviceType() == device.type()) {
      KernelTime &kernel = byName[event.name()];
      ++kernel.calls;
      kernel.milliseconds += double(event.durationNs()) * 1e-6;
    }
  }
  std::vector<KernelTime> kernels;
  for (auto &[name, kernel] : byName) {
    kernel.name = name;
    kernels.push_back(kernel);
  }
  std::sort(kernels.begin(), kernels.end(), [](const auto &a, const auto &b) {
    return a.milliseconds > b.milliseconds;
  });
  return kernels;
}

} // namespace recurra
