#ifndef FLAGGEMS_TOOLS_PRECISION_MODEL_H_
#define FLAGGEMS_TOOLS_PRECISION_MODEL_H_

// Model files: TorchScript, and torch.export packages (.pt2).

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flaggems {

struct ModelInputs {
  std::vector<c10::IValue> args;
  std::unordered_map<std::string, c10::IValue> kwargs;
};

class Model {
 public:
  virtual ~Model() = default;

  // "TorchScript" or "torch.export package".
  virtual std::string kind() const = 0;

  // The inputs that the file itself holds, or nullopt.
  virtual absl::StatusOr<std::optional<ModelInputs>> SampleInputs() const = 0;

  // One forward pass. kInvalidArgument if the model refuses the inputs or
  // fails, with torch's text.
  virtual absl::Status Run(const ModelInputs& inputs) = 0;
};

// Loads a model onto a device. The file's content decides on its kind. A
// torch.export package runs on the device that it was exported for, which has
// to be this one.
// kNotFound         no such file
// kInvalidArgument  a directory, truncated, no model, or for another device;
//                   says what it is
absl::StatusOr<std::unique_ptr<Model>> LoadModel(const std::string& path,
                                                 c10::Device device);

// Inputs written by torch.save(): a tuple or list holds the positional
// arguments, a dict the keyword arguments, anything else is the only argument;
// a pair (tuple, dict) is both.
// kNotFound, kInvalidArgument as LoadModel().
absl::StatusOr<ModelInputs> LoadInputs(const std::string& path);

// The same with every tensor on `device`, in tuples, lists and dicts too.
absl::StatusOr<ModelInputs> OnDevice(const ModelInputs& inputs,
                                     c10::Device device);

}  // namespace flaggems

#endif  // FLAGGEMS_TOOLS_PRECISION_MODEL_H_
