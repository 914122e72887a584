// The command line as its users call it: arguments in, exit code and output
// out.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

constexpr char kBinary[] = "tools/precision/precision";
constexpr char kWrongRelu[] = "tools/precision/precision_with_wrong_relu";
constexpr char kTestData[] = "tools/precision/testdata/";

struct Result {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

Result Execute(const std::string& binary, const std::string& arguments) {
  Result result;
  const std::string command =
      absl::StrCat(binary, " ", arguments, " </dev/null");
  // stderr first, so that `arguments` may send stdout elsewhere.
  FILE* pipe = popen(absl::StrCat("exec 2>&1; ", command).c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::string Temp(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

std::string LogFlag() {
  return absl::StrCat(" --precision_path=", Temp("precision.log"));
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)),
                     std::istreambuf_iterator<char>());
}

std::string SaveScript(const std::string& name, const std::string& code) {
  torch::jit::Module module(name);
  module.define(code);
  const std::string path = Temp(name + ".pt");
  module.save(path);
  return path;
}

std::string SaveInputs(const std::string& name, const c10::IValue& value) {
  const std::vector<char> bytes = torch::jit::pickle_save(value);
  const std::string path = Temp(name);
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

TEST(Run, AnExportedModelWithItsOwnInputsIsRight) {
  const Result result =
      Execute(kBinary, absl::StrCat("run ", kTestData, "tiny.pt2", LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("relu"), HasSubstr("_softmax"),
                                   HasSubstr("addmm"), HasSubstr(", 0 wrong")));
  EXPECT_THAT(ReadFile(Temp("precision.log")), IsEmpty());
}

TEST(Run, ATorchScriptModelWithAnInputFileIsRight) {
  const Result result = Execute(
      kBinary, absl::StrCat("run ", kTestData, "tiny.pt --inputs=", kTestData,
                            "inputs.pt --repeat=3 --quiet", LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("9 calls checked: 9 right"));
}

TEST(Run, OneWrongKernelIsOneLineAndExitCodeOne) {
  const Result result =
      Execute(kWrongRelu,
              absl::StrCat("run ", kTestData,
                           "tiny.pt2 --repeat=2 --precision_profile=original",
                           LogFlag()));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("wrong: relu"));
  EXPECT_THAT(
      ReadFile(Temp("precision.log")),
      MatchesRegex(
          "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} "
          "\\[WARNING\\] Op: relu \\| FAIL \\| in: \\[\\(2, "
          "3\\):torch\\.float32\\] \\| out: \\(2, 3\\):torch\\.float32 \\| "
          "max_abs: [0-9]\\.[0-9]{6}e[+-][0-9]{2} \\| max_rel: "
          "[0-9]\\.[0-9]{6}e[+-][0-9]{2} \\| rtol=0\\.0001, atol=1e-05\n"));
}

TEST(Run, IsStrictByDefaultAndSaysWhereAndHowBad) {
  const Result result = Execute(
      kWrongRelu,
      absl::StrCat("run ", kTestData, "tiny.pt2 --repeat=2", LogFlag()));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("wrong: relu"));
  EXPECT_THAT(ReadFile(Temp("precision.log")),
              AllOf(HasSubstr("Op: relu | FAIL | in: [(2, 3):torch.float32]"),
                    HasSubstr(" | reason=value | score="),
                    HasSubstr(" | call=2 | worst=("), HasSubstr(" want=0")));
}

TEST(Run, ObservesTorchsOwnKernels) {
  for (const char* kernels : {"observed", "both"}) {
    const Result result =
        Execute(kWrongRelu, absl::StrCat("run ", kTestData, "tiny.pt2",
                                         " --kernels=", kernels, LogFlag()));
    // `both` has the planted relu in it.
    EXPECT_EQ(result.exit_code, kernels[0] == 'o' ? 0 : 1) << result.output;
    EXPECT_THAT(result.output, HasSubstr("as_strided"));
  }
}

TEST(Selftest, EveryVerdictIsAsExpected) {
  const Result result = Execute(kBinary, "selftest");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("W40"), HasSubstr("R12"),
                                   ContainsRegex("as expected, 0 not")));
  EXPECT_EQ(Execute(kBinary, "selftest nothing").exit_code, 2);
  EXPECT_THAT(Execute(kBinary, "selftest W04 sorting --quiet").output,
              ContainsRegex("^[0-9]+ wrong and [0-9]+ right kernels"));
}

TEST(Run, IncludeAndExcludeSelectKernels) {
  const std::string model = absl::StrCat("run ", kTestData, "tiny.pt2");
  Result result =
      Execute(kWrongRelu, absl::StrCat(model, " --exclude=relu", LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  result = Execute(kWrongRelu,
                   absl::StrCat(model, " --include=softmax,addmm", LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("2 calls checked"));
}

TEST(Run, OptionsComeFromFlagsAndFlagFiles) {
  std::ofstream(Temp("flags")) << "--precision_rtol=1e9\n";
  const Result result = Execute(
      kWrongRelu, absl::StrCat("run ", kTestData, "tiny.pt2 --flagfile=",
                               Temp("flags"), " --precision_atol=1e9",
                               " --precision_profile=original", LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

struct BadCase {
  std::string name;
  std::string arguments;  // $TMP and $DATA are replaced
  int exit_code;
  std::string message;
};

void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }

class BadInputTest : public testing::TestWithParam<BadCase> {
 protected:
  static void SetUpTestSuite() {
    std::ofstream(Temp("text.pt")) << "no model\n";
    std::ofstream(Temp("empty.pt"));
    const std::string whole = ReadFile(absl::StrCat(kTestData, "tiny.pt"));
    std::ofstream(Temp("truncated.pt"), std::ios::binary)
        << whole.substr(0, whole.size() / 2);
    const std::string package = ReadFile(absl::StrCat(kTestData, "tiny.pt2"));
    std::ofstream(Temp("truncated.pt2"), std::ios::binary)
        << package.substr(0, package.size() / 2);
    SaveScript("cuda", "def forward(self, x):\n  return x.to(\"cuda\")\n");
    SaveScript("throws", "def forward(self, x):\n  assert False, \"no\"\n");
    SaveInputs("two.pt", c10::ivalue::Tuple::create(
                             {at::ones({2, 4}), at::ones({2, 4})}));
    SaveInputs("shape.pt", c10::ivalue::Tuple::create({at::ones({2, 5})}));
    SaveInputs("dtype.pt",
               c10::ivalue::Tuple::create({at::ones({2, 4}, at::kLong)}));
    c10::impl::GenericDict keys(c10::IntType::get(), c10::TensorType::get());
    keys.insert(1, at::ones({2, 4}));
    SaveInputs("keys.pt", keys);
    SaveInputs("number.pt", c10::IValue(3));
  }
};

TEST_P(BadInputTest, IsAClearErrorAndAnExitCode) {
  const std::string arguments = absl::StrReplaceAll(
      GetParam().arguments,
      {{"$TMP", testing::TempDir()}, {"$DATA/", kTestData}});
  const Result result = Execute(kBinary, arguments + LogFlag());
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.output;
  EXPECT_THAT(result.output, HasSubstr(GetParam().message));
  EXPECT_THAT(result.output, Not(HasSubstr("terminate called")));
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, BadInputTest,
    testing::ValuesIn(std::vector<BadCase>{
        {"NoCommand", "", 2, "which command?"},
        {"UnknownCommand", "walk", 2, "unknown command \"walk\""},
        {"NoModel", "run", 2, "which model?"},
        {"TwoModels", "run a b", 2, "one MODEL expected"},
        {"UnknownFlag", "run $DATA/tiny.pt2 --repaet=2", 2, "--repeat"},
        {"BadFlagValue", "run $DATA/tiny.pt2 --repeat=x", 2, "--repeat=x"},
        {"ZeroRepeat", "run $DATA/tiny.pt2 --repeat=0", 2, "--repeat=0"},
        {"UnknownDevice", "run $DATA/tiny.pt2 --device=cuda", 2,
         "--device=cuda"},
        {"UnknownKernels", "run $DATA/tiny.pt2 --kernels=all", 2,
         "--kernels=all"},
        {"UnknownInclude", "run $DATA/tiny.pt2 --include=softmaxx", 2,
         "did you mean"},
        {"NegativeTolerance", "run $DATA/tiny.pt2 --precision_rtol=-1", 2,
         "rtol"},
        {"NanTolerance", "run $DATA/tiny.pt2 --precision_atol=nan", 2, "atol"},
        {"NegativeMaxChecks", "run $DATA/tiny.pt2 --precision_max_checks=-1", 2,
         "max_checks"},
        {"ReferenceElsewhereThanTheModel",
         "run $DATA/tiny.pt2 --precision_reference=device", 2,
         "the model runs on the CPU; add --device=cuda"},
        {"ReferenceOfFixedTolerances",
         "run $DATA/tiny.pt2 --precision_reference=auto "
         "--precision_profile=original",
         2, "tolerance is \"fixed\" and reference is \"auto\""},
        {"MissingModel", "run $TMP/none.pt", 3, "none.pt"},
        {"Directory", "run $TMP", 3, "is a directory"},
        {"Text", "run $TMP/text.pt", 3, "not a model file"},
        {"EmptyFile", "run $TMP/empty.pt", 3, "not a model file"},
        {"Truncated", "run $TMP/truncated.pt", 3, "truncated"},
        {"TruncatedPackage", "run $TMP/truncated.pt2", 3, "truncated"},
        {"StateDict", "run $DATA/inputs.pt", 3, "no program"},
        {"NoInputs", "run $DATA/tiny.pt", 3, "--inputs"},
        {"MissingInputs", "run $DATA/tiny.pt --inputs=$TMP/none.pt", 3,
         "none.pt"},
        {"TextInputs", "run $DATA/tiny.pt --inputs=$TMP/text.pt", 3, "text.pt"},
        {"TooManyInputs", "run $DATA/tiny.pt --inputs=$TMP/two.pt", 3,
         "argument"},
        {"TooManyInputsOfAPackage", "run $DATA/tiny.pt2 --inputs=$TMP/two.pt",
         3, "it takes 1 positional and 0 keyword arguments"},
        {"WrongShape", "run $DATA/tiny.pt --inputs=$TMP/shape.pt", 3,
         "the model failed in run 1 of 1"},
        {"WrongShapeOfAPackage", "run $DATA/tiny.pt2 --inputs=$TMP/shape.pt", 3,
         "shapes [2, 5] and [4, 3] cannot be multiplied"},
        {"NumberKeys", "run $DATA/tiny.pt2 --inputs=$TMP/keys.pt", 3,
         "are names, not Int"},
        {"Device", "run /dev/null", 3, "is a pipe or device"},
        {"UnknownSkip", "run $DATA/tiny.pt2 --precision_skip=soft_max", 2,
         "did you mean"},
        {"WrongDtype", "run $DATA/tiny.pt --inputs=$TMP/dtype.pt", 3,
         "the model failed in run 1 of 1"},
        {"NumberForTensor", "run $DATA/tiny.pt --inputs=$TMP/number.pt", 3,
         "the model failed in run 1 of 1"},
        {"ModelThrows", "run $TMP/throws.pt --inputs=$DATA/inputs.pt", 3,
         "the model failed in run 1 of 1: RuntimeError: AssertionError: no"},
        {"ModelMovesToCuda", "run $TMP/cuda.pt --inputs=$DATA/inputs.pt", 3,
         "needs a CUDA device"},
        {"PackageForCuda", "run $DATA/tiny_cuda.pt2", 3, "needs a CUDA device"},
        {"ListWithArgument", "list x", 2, "takes no arguments"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(BadLog, IsOneClearError) {
  const std::string run = absl::StrCat("run ", kTestData, "tiny.pt2");
  Result result =
      Execute(kBinary, absl::StrCat(run, " --precision_path=/proc/x/y.log"));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("/proc/x"));
  result = Execute(kBinary,
                   absl::StrCat(run, " --precision_path=", testing::TempDir()));
  EXPECT_NE(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("directory"));
}

TEST(Output, ThatCannotBeWrittenIsNoCleanRun) {
  const Result result = Execute(
      kBinary,
      absl::StrCat("run ", kTestData, "tiny.pt2", LogFlag(), " >/dev/full"));
  EXPECT_EQ(result.exit_code, 3) << result.output;
}

TEST(Output, ThatIsClosedIsNoCleanRun) {
  const Result result = Execute(
      kBinary, absl::StrCat("run ", kTestData, "tiny.pt2", LogFlag(), " >&-"));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("standard output is closed"));
}

TEST(Run, AcceptedFailuresAreCountedAndClean) {
  std::ofstream(Temp("accepted"))
      << "relu torch.float32 value 2999-12-31 planted\n";
  const Result result = Execute(
      kWrongRelu,
      absl::StrCat("run ", kTestData, "tiny.pt2 --include=relu",
                   " --precision_suppressions=", Temp("accepted"), LogFlag()));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("1 calls checked: 0 right, 0 wrong, 1 failure accepted "
                        "by the suppression file"));
}

TEST(Help, OfEveryCommandIsExitCodeZero) {
  EXPECT_THAT(Execute(kBinary, "--help").output,
              AllOf(HasSubstr("run"), HasSubstr("list")));
  const Result run = Execute(kBinary, "run --help");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--inputs"), HasSubstr("--repeat=1"),
                                HasSubstr("Exit code")));
  EXPECT_EQ(Execute(kBinary, "list -h").exit_code, 0);
}

TEST(List, ShowsEveryKernelAndItsTreatment) {
  Result result = Execute(kBinary, "list");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("aten::add.out"), Not(HasSubstr("skipped: ")),
                    HasSubstr("aten::mm"), HasSubstr("checked: budget")));
  result = Execute(kBinary, "list --precision_profile=original");
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("aten::add.out"), HasSubstr("skipped: "),
                    HasSubstr("aten::mm"), HasSubstr("checked: fixed")));
  // The class of the error budget is the third column.
  EXPECT_THAT(Execute(kBinary, "list --include=mm").output,
              ContainsRegex("aten::mm +CPU +sum +checked"));
  EXPECT_THAT(Execute(kBinary, "list --include=softmax").output,
              ContainsRegex("aten::_softmax +CPU +cond +"));
  EXPECT_THAT(Execute(kBinary, "list --include=add").output,
              AllOf(HasSubstr("aten::add.Tensor"), Not(HasSubstr("mm"))));
}

TEST(Run, UnderBazelRunPathsAreTheCallers) {
  std::ofstream(Temp("copy.pt2"), std::ios::binary)
      << ReadFile(absl::StrCat(kTestData, "tiny.pt2"));
  const Result result =
      Execute(absl::StrCat("BUILD_WORKING_DIRECTORY=", testing::TempDir(), " ",
                           kBinary),
              "run copy.pt2 --precision_path=here.log");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_TRUE(std::ifstream(Temp("here.log")).good());
}

TEST(Output, HasNoControlCharactersOffATerminal) {
  const Result result =
      Execute(kBinary, absl::StrCat("run ", kTestData, "tiny.pt2", LogFlag()));
  EXPECT_THAT(result.output, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.output, Not(HasSubstr("Overriding")));
  EXPECT_THAT(result.output, Not(HasSubstr("inputsToParameters")));
  EXPECT_THAT(result.output, Not(HasSubstr("static dispatched")));
}

}  // namespace
}  // namespace flaggems
