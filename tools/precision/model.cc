#include "tools/precision/model.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Logging.h>
#include <caffe2/serialize/inline_container.h>
#include <sys/stat.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/nativert/ModelRunnerHandle.h>
#include <torch/script.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/dispatch_exported_models.h"

namespace flaggems {
namespace {

// The name that torch.export.save gives to the one model of a package.
constexpr char kExportedModel[] = "model";
// Torch lists every backend in some errors; more does not help.
constexpr size_t kMaxErrorText = 300;
constexpr char kSampleInputsRecord[] = "data/sample_inputs/model.pt";

absl::Status CheckIsFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a directory, not a file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a pipe or device, not a file"));
  }
  return absl::OkStatus();
}

// The line of an error's text that says what went wrong. TorchScript puts it
// last, below its traceback; the runner of torch.export packages puts it below
// the node and its arguments, just above the backtrace.
absl::string_view CauseIn(absl::string_view text) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.empty()) return "an error without text";
  if (absl::StrContains(lines.front(), "TorchScript interpreter")) {
    return lines.back();
  }
  if (absl::StrContains(lines.front(), "executing node")) {
    for (size_t i = 1; i < lines.size(); ++i) {
      if (absl::StartsWith(lines[i], "Exception raised from")) {
        return lines[i - 1];
      }
    }
  }
  return lines.front();
}

// What the model says of itself when it fails. Models that were made for a GPU
// fail in ways that do not name the cause.
absl::Status ModelError(const std::exception& exception) {
  std::string text = exception.what();
  if (const auto* error = dynamic_cast<const c10::Error*>(&exception)) {
    text = error->what_without_backtrace();
  }
  const absl::string_view cause = CauseIn(text);
  // On a machine without one, a model for the CPU has no reason to speak of
  // CUDA.
  const bool needs_cuda =
      !at::hasCUDA() && (absl::StrContains(cause, "CUDA") ||
                         absl::StrContains(cause, "NVIDIA driver"));
  return absl::InvalidArgumentError(absl::StrCat(
      needs_cuda ? "the model needs a CUDA device: run it with --device=cuda "
                   "where there is one, or export it on the CPU: "
                 : "",
      cause.substr(0, kMaxErrorText)));
}

// Runs `body` (which returns a Status or StatusOr); what it throws is a
// ModelError().
template <typename Body>
auto Calling(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return ModelError(exception);
  } catch (...) {
    return StatusOfException(std::current_exception());
  }
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
}

// Drops torch's own log below `level` while it lives: the runner lists every
// operator that DispatchExportedModels() made it dispatch, which is what we
// want, and logs with a backtrace the error that it throws.
class QuietTorchLog {
 public:
  explicit QuietTorchLog(int level) { FLAGS_caffe2_log_level = level; }
  ~QuietTorchLog() { FLAGS_caffe2_log_level = level_; }
  QuietTorchLog(const QuietTorchLog&) = delete;
  QuietTorchLog& operator=(const QuietTorchLog&) = delete;

 private:
  const int level_ = FLAGS_caffe2_log_level;
};

// What torch.save() wrote: (args, kwargs), args, kwargs or one argument.
ModelInputs InputsFromValue(const c10::IValue& value) {
  ModelInputs inputs;
  const auto add_kwargs = [&](const c10::IValue& dict) {
    for (const auto& item : dict.toGenericDict()) {
      TORCH_CHECK_VALUE(item.key().isString(),
                        "the keys of a dict of keyword arguments are names, "
                        "not ",
                        item.key().tagKind());
      inputs.kwargs.emplace(item.key().toStringRef(), item.value());
    }
  };
  const auto elements = [](const c10::IValue& sequence) {
    return sequence.isTuple() ? sequence.toTupleRef().elements().vec()
                              : sequence.toListRef().vec();
  };
  if (value.isTuple() && value.toTupleRef().elements().size() == 2 &&
      (value.toTupleRef().elements()[0].isTuple() ||
       value.toTupleRef().elements()[0].isList()) &&
      value.toTupleRef().elements()[1].isGenericDict()) {
    inputs.args = elements(value.toTupleRef().elements()[0]);
    add_kwargs(value.toTupleRef().elements()[1]);
  } else if (value.isTuple() || value.isList()) {
    inputs.args = elements(value);
  } else if (value.isGenericDict()) {
    add_kwargs(value);
  } else {
    inputs.args = {value};
  }
  return inputs;
}

class TorchScriptModel : public Model {
 public:
  explicit TorchScriptModel(torch::jit::Module module)
      : module_(std::move(module)) {}

  std::string kind() const override { return "TorchScript"; }

  absl::StatusOr<std::optional<ModelInputs>> SampleInputs() const override {
    return std::optional<ModelInputs>();
  }

  absl::Status Run(const ModelInputs& inputs) override {
    return Calling([&] {
      const c10::InferenceMode inference;
      module_.forward(inputs.args, inputs.kwargs);
      return absl::OkStatus();
    });
  }

 private:
  torch::jit::Module module_;
};

absl::StatusOr<std::optional<ModelInputs>> ReadSampleInputs(
    const std::string& path) {
  using Result = absl::StatusOr<std::optional<ModelInputs>>;
  return StatusOrOf([&]() -> Result {
    caffe2::serialize::PyTorchStreamReader reader(path);
    if (!reader.hasRecord(kSampleInputsRecord)) {
      return std::optional<ModelInputs>();
    }
    const auto [data, size] = reader.getRecord(kSampleInputsRecord);
    const char* bytes = static_cast<const char*>(data.get());
    return std::optional<ModelInputs>(InputsFromValue(
        torch::jit::pickle_load(std::vector<char>(bytes, bytes + size))));
  });
}

class ExportedModel : public Model {
 public:
  // Throws what the runner throws.
  explicit ExportedModel(const std::string& path)
      : sample_inputs_(ReadSampleInputs(path)), runner_(path, kExportedModel) {}

  std::string kind() const override { return "torch.export package"; }

  absl::StatusOr<std::optional<ModelInputs>> SampleInputs() const override {
    return sample_inputs_;
  }

  absl::Status Run(const ModelInputs& inputs) override {
    FG_RETURN_IF_ERROR(CheckNumberOf(inputs));
    return Calling([&] {
      const QuietTorchLog quiet(c10::GLOG_FATAL);
      const c10::InferenceMode inference;
      runner_.run(inputs.args, inputs.kwargs);
      return absl::OkStatus();
    });
  }

 private:
  // The runner's own message for a wrong number of inputs helps nobody. The
  // sample inputs have the right one.
  absl::Status CheckNumberOf(const ModelInputs& inputs) const {
    if (!sample_inputs_.ok() || !*sample_inputs_) return absl::OkStatus();
    const size_t args = (*sample_inputs_)->args.size();
    const size_t kwargs = (*sample_inputs_)->kwargs.size();
    if (inputs.args.size() == args && inputs.kwargs.size() == kwargs) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("it takes ", args, " positional and ", kwargs,
                     " keyword arguments, the inputs are ", inputs.args.size(),
                     " and ", inputs.kwargs.size()));
  }

  // Read once: unpickling them has no place in a run.
  const absl::StatusOr<std::optional<ModelInputs>> sample_inputs_;
  torch::nativert::ModelRunnerHandle runner_;
};

// Tensors of other devices than `device`, named for a message; empty if there
// are none.
std::string OtherDevice(const ModelInputs& inputs, c10::Device device) {
  std::string other;
  const auto visit = [&](const c10::IValue& v) {
    v.visit([&](const c10::IValue& part) {
      if (part.isTensor() && part.toTensor().defined() &&
          part.toTensor().device().type() != device.type()) {
        other = part.toTensor().device().str();
      }
      return false;
    });
  };
  for (const c10::IValue& v : inputs.args) visit(v);
  for (const auto& [name, v] : inputs.kwargs) visit(v);
  return other;
}

c10::IValue Moved(const c10::IValue& v, c10::Device device) {
  if (v.isTensor() && v.toTensor().defined()) return v.toTensor().to(device);
  if (v.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& element : v.toTupleRef().elements()) {
      elements.push_back(Moved(element, device));
    }
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  if (v.isList()) {
    const c10::List<c10::IValue> list = v.toList();
    c10::impl::GenericList moved(list.elementType());
    for (const c10::IValue& element : list) {
      moved.push_back(Moved(element, device));
    }
    return moved;
  }
  if (v.isGenericDict()) {
    const auto dict = v.toGenericDict();
    c10::impl::GenericDict moved(dict.keyType(), dict.valueType());
    for (const auto& item : dict) {
      moved.insert(item.key(), Moved(item.value(), device));
    }
    return moved;
  }
  return v;
}

}  // namespace

absl::StatusOr<ModelInputs> OnDevice(const ModelInputs& inputs,
                                     c10::Device device) {
  return StatusOrOf([&]() -> absl::StatusOr<ModelInputs> {
    ModelInputs moved;
    for (const c10::IValue& v : inputs.args) {
      moved.args.push_back(Moved(v, device));
    }
    for (const auto& [name, v] : inputs.kwargs) {
      moved.kwargs.emplace(name, Moved(v, device));
    }
    return moved;
  });
}

absl::StatusOr<std::unique_ptr<Model>> LoadModel(const std::string& path,
                                                 c10::Device device) {
  FG_RETURN_IF_ERROR(CheckIsFile(path));
  bool is_exported = false;
  bool is_script = false;
  const absl::Status opened = StatusOrOf([&] {
    caffe2::serialize::PyTorchStreamReader reader(path);
    is_exported = reader.hasRecord("archive_format");
    is_script = reader.hasRecord("constants.pkl");
    return absl::OkStatus();
  });
  if (!opened.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " is not a model file, or is truncated: TorchScript files and "
        "torch.export packages are zip archives (",
        opened.message(), ")"));
  }
  if (is_exported) {
    using Result = absl::StatusOr<std::unique_ptr<Model>>;
    Result model = Calling([&]() -> Result {
      FG_RETURN_IF_ERROR(DispatchExportedModels());
      // One level higher, and the runner prints the model's signature.
      const QuietTorchLog quiet(c10::GLOG_ERROR);
      auto exported = std::make_unique<ExportedModel>(path);
      const auto sample = exported->SampleInputs();
      if (sample.ok() && *sample) {
        const std::string other = OtherDevice(**sample, device);
        if (!other.empty()) {
          return absl::InvalidArgumentError(absl::StrCat(
              "was exported for ", other, " and runs there only: export it on ",
              device.str(), ", or save it as TorchScript"));
        }
      }
      return exported;
    });
    if (!model.ok()) return WithPath(path, model.status());
    return model;
  }
  if (is_script) {
    using Result = absl::StatusOr<std::unique_ptr<Model>>;
    Result model = Calling([&]() -> Result {
      torch::jit::Module module = torch::jit::load(path, device);
      module.eval();
      return std::make_unique<TorchScriptModel>(std::move(module));
    });
    if (!model.ok()) return WithPath(path, model.status());
    return model;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      " holds tensors but no program (a state dict?); save the model "
      "with torch.jit.save or torch.export.save"));
}

absl::StatusOr<ModelInputs> LoadInputs(const std::string& path) {
  FG_RETURN_IF_ERROR(CheckIsFile(path));
  absl::StatusOr<ModelInputs> inputs =
      StatusOrOf([&]() -> absl::StatusOr<ModelInputs> {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                      std::istreambuf_iterator<char>());
        return InputsFromValue(torch::jit::pickle_load(bytes));
      });
  if (!inputs.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " does not hold inputs written by torch.save(): ",
                     inputs.status().message()));
  }
  return inputs;
}

}  // namespace flaggems
