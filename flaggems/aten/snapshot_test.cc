#include "flaggems/aten/snapshot.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "flaggems/core/status_testutil.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

std::vector<c10::IValue> SnapshotOf(std::vector<c10::IValue> arguments) {
  absl::StatusOr<Snapshot> snapshot = Snapshot::Take(arguments);
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? snapshot->arguments() : std::vector<c10::IValue>();
}

struct TensorCase {
  std::string name;
  at::Tensor (*make)();
};

std::vector<TensorCase> TensorCases() {
  return {
      {"Contiguous",
       [] {
         return at::arange(12.).reshape({3, 4});
       }},
      {"Transposed",
       [] {
         return at::arange(12.).reshape({3, 4}).t();
       }},
      {"SlicedWithOffset",
       [] {
         return at::arange(40.).reshape({5, 8}).slice(1, 3, 8, 2);
       }},
      {"Expanded",
       [] {
         return at::arange(3.).unsqueeze(1).expand({3, 4});
       }},
      {"ZeroDim", [] { return at::scalar_tensor(2.5); }},
      {"Empty",
       [] {
         return at::empty({0, 3});
       }},
      {"EmptySliceOfStorage", [] { return at::arange(10.).slice(0, 5, 5); }},
      {"EmptyBehindItsStorage",
       [] {
         return at::empty({5, 0}).as_strided({5, 0}, {2, 2}, 1);
       }},
      {"Half", [] { return at::arange(7.).to(at::kHalf).slice(0, 3); }},
      {"Bool", [] { return at::arange(7.) > 3; }},
      {"Complex",
       [] {
         return at::complex(at::arange(6.), at::ones({6})).slice(0, 1, 6, 2);
       }},
      {"Conjugated",
       [] { return at::complex(at::arange(6.), at::ones({6})).conj(); }},
      {"NegativeBit", [] { return at::_neg_view(at::arange(6.)); }},
      {"ChannelsLast",
       [] {
         return at::rand({2, 3, 4, 5})
             .contiguous(at::MemoryFormat::ChannelsLast);
       }},
  };
}

void PrintTo(const TensorCase& c, std::ostream* os) { *os << c.name; }

class SnapshotTensorTest : public testing::TestWithParam<TensorCase> {};

TEST_P(SnapshotTensorTest, KeepsWhatAnOperatorSees) {
  const at::Tensor tensor = GetParam().make();
  const std::vector<c10::IValue> copies = SnapshotOf({tensor});
  ASSERT_EQ(copies.size(), 1u);
  const at::Tensor copy = copies[0].toTensor();
  EXPECT_EQ(copy.sizes(), tensor.sizes());
  EXPECT_EQ(copy.strides(), tensor.strides());
  EXPECT_EQ(copy.scalar_type(), tensor.scalar_type());
  EXPECT_EQ(copy.is_conj(), tensor.is_conj());
  EXPECT_EQ(copy.is_neg(), tensor.is_neg());
  EXPECT_TRUE(at::equal(copy.resolve_conj().resolve_neg(),
                        tensor.resolve_conj().resolve_neg()));
  if (tensor.numel() > 0) {
    EXPECT_NE(copy.const_data_ptr(), tensor.const_data_ptr());
  }
}

TEST_P(SnapshotTensorTest, IsNotChangedWithTheOriginal) {
  at::Tensor tensor = GetParam().make();
  if (tensor.numel() == 0 || !tensor.is_non_overlapping_and_dense()) {
    GTEST_SKIP() << "fill_ needs elements of their own";
  }
  const at::Tensor before = tensor.clone();
  const std::vector<c10::IValue> copies = SnapshotOf({tensor});
  tensor.zero_();
  EXPECT_TRUE(at::equal(copies[0].toTensor().resolve_conj().resolve_neg(),
                        before.resolve_conj().resolve_neg()));
}

INSTANTIATE_TEST_SUITE_P(Tensors, SnapshotTensorTest,
                         testing::ValuesIn(TensorCases()),
                         [](const auto& info) { return info.param.name; });

TEST(SnapshotTest, KeepsWhetherAGradientIsWanted) {
  const at::Tensor x = at::ones({2}).requires_grad_(true);
  const auto snapshot = Snapshot::Take({x, at::ones({2})});
  ASSERT_THAT(snapshot, IsOk());
  EXPECT_TRUE(snapshot->arguments()[0].toTensor().requires_grad());
  EXPECT_FALSE(snapshot->arguments()[1].toTensor().requires_grad());
}

TEST(SnapshotTest, SharedStorageStaysShared) {
  const at::Tensor base = at::arange(10.);
  const std::vector<c10::IValue> copies =
      SnapshotOf({base.slice(0, 0, 6), base.slice(0, 4, 10)});
  copies[0].toTensor().fill_(-1);
  const at::Tensor second = copies[1].toTensor();
  EXPECT_EQ(second[0].item<float>(), -1);
  EXPECT_EQ(second[1].item<float>(), -1);
  EXPECT_EQ(second[2].item<float>(), 6);
  EXPECT_EQ(base[0].item<float>(), 0);
}

TEST(SnapshotTest, SharedStorageOfTwoDtypesStaysShared) {
  const at::Tensor complex = at::complex(at::arange(5.), at::ones({5}));
  const std::vector<c10::IValue> copies =
      SnapshotOf({at::view_as_real(complex).select(1, 1), complex});
  copies[0].toTensor().fill_(9);
  EXPECT_TRUE(at::equal(at::imag(copies[1].toTensor()), at::full({5}, 9.f)));
}

// What an empty tensor says of its storage is no part of a range, whichever
// argument comes first.
TEST(SnapshotTest, EmptyTensorsReachNothingOfASharedStorage) {
  const at::Tensor base = at::arange(1000.);
  const at::Tensor empty = base.narrow(0, 10, 0);
  const at::Tensor late = base.narrow(0, 900, 4);
  for (const std::vector<c10::IValue>& arguments :
       {std::vector<c10::IValue>{empty, late},
        std::vector<c10::IValue>{late, empty}}) {
    const auto snapshot = Snapshot::Take(arguments);
    ASSERT_THAT(snapshot, IsOk());
    EXPECT_LT(snapshot->nbytes(), 64);
    for (size_t i = 0; i < arguments.size(); ++i) {
      EXPECT_TRUE(at::equal(snapshot->arguments()[i].toTensor(),
                            arguments[i].toTensor()));
    }
  }
}

// As a shard's parameters are between two of its uses.
TEST(SnapshotTest, RefusesElementsOutsideTheStorage) {
  const at::Tensor x = at::ones({100});
  x.storage().unsafeGetStorageImpl()->set_nbytes(0);
  const auto snapshot = Snapshot::Take({x});
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(snapshot.status().message()),
              testing::HasSubstr("outside its storage"));
  x.storage().unsafeGetStorageImpl()->set_nbytes(400);
}

TEST(SnapshotTest, CopiesOnlyTheReachedPartOfAStorage) {
  const at::Tensor base = at::zeros({1 << 20});
  const std::vector<c10::IValue> copies =
      SnapshotOf({base.slice(0, 1000, 1010)});
  EXPECT_LT(copies[0].toTensor().storage().nbytes(), 100u);
}

// What a limit of memory is compared with is what is copied.
TEST(SnapshotTest, BytesReachedAreThoseThatAreCopied) {
  const at::Tensor big = at::zeros({100, 50});
  const struct {
    at::Tensor tensor;
    int64_t bytes;
  } kCases[] = {
      {big, 20000},
      {big.select(1, 0), (99 * 50 + 1) * 4},
      {big.t(), 20000},
      {big.narrow(0, 10, 5), 5 * 50 * 4},
      {at::zeros({1}).expand({1000}), 4},
      {at::zeros({0, 7}), 0},
      {at::zeros({5, 0}).as_strided({5, 0}, {2, 2}, 9), 0},
      {at::zeros({}), 4},
  };
  for (const auto& c : kCases) {
    const std::vector<c10::IValue> values = {c.tensor, 3, c10::IValue()};
    EXPECT_EQ(BytesReached(values), c.bytes);
    EXPECT_LE(Snapshot::Take(values)->nbytes(), c.bytes + 32);
  }
}

TEST(SnapshotTest, ListsAndNumbersAndNoneAreTakenOver) {
  const at::Tensor a = at::ones({2});
  const c10::List<at::Tensor> list({a, a + 1});
  c10::List<std::optional<at::Tensor>> optionals;
  optionals.push_back(std::nullopt);
  optionals.push_back(a);
  const std::vector<c10::IValue> copies =
      SnapshotOf({list, optionals, 3, 2.5, c10::IValue(), "text", at::Tensor(),
                  std::vector<int64_t>{1, 2}});
  EXPECT_TRUE(copies[0].isTensorList());
  EXPECT_EQ(copies[0].toTensorList().size(), 2u);
  EXPECT_TRUE(at::equal(copies[0].toTensorList()[1], a + 1));
  EXPECT_TRUE(copies[1].isOptionalTensorList());
  EXPECT_TRUE(copies[1].toListRef()[0].isNone());
  EXPECT_EQ(copies[2].toInt(), 3);
  EXPECT_EQ(copies[3].toDouble(), 2.5);
  EXPECT_TRUE(copies[4].isNone());
  EXPECT_EQ(copies[5].toStringRef(), "text");
  EXPECT_FALSE(copies[6].toTensor().defined());
  EXPECT_EQ(copies[7].toIntVector(), (std::vector<int64_t>{1, 2}));
}

TEST(SnapshotTest, APythonNumberStaysOne) {
  at::Tensor number = at::scalar_tensor(2.5, at::kDouble);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  const std::vector<c10::IValue> copies = SnapshotOf({number});
  EXPECT_TRUE(copies[0].toTensor().unsafeGetTensorImpl()->is_wrapped_number());
}

TEST(SnapshotTest, CopiesFromADevice) {
  const at::Tensor host = at::arange(24.).reshape({4, 6});
  const at::Tensor device = ToFakeDevice(host);
  const at::Tensor view = device.as_strided({3, 4}, {1, 6}, 2);
  const int64_t copies_before = FakeDeviceToHostCopies();
  const std::vector<c10::IValue> copies =
      SnapshotOf({view, device, device.device()});
  // One storage, one copy.
  EXPECT_EQ(FakeDeviceToHostCopies(), copies_before + 1);
  EXPECT_TRUE(copies[0].toTensor().device().is_cpu());
  EXPECT_EQ(copies[0].toTensor().strides(), view.strides());
  EXPECT_TRUE(
      at::equal(copies[0].toTensor(), host.as_strided({3, 4}, {1, 6}, 2)));
  EXPECT_TRUE(at::equal(copies[1].toTensor(), host));
  EXPECT_TRUE(copies[2].toDevice().is_cpu());
}

TEST(SnapshotTest, CopiesNothingOfAnEmptyTensorOnADevice) {
  const at::Tensor empty =
      ToFakeDevice(at::ones({5, 0})).as_strided({5, 0}, {2, 2}, 1);
  const int64_t copies_before = FakeDeviceToHostCopies();
  const std::vector<c10::IValue> copies = SnapshotOf({empty});
  EXPECT_EQ(FakeDeviceToHostCopies(), copies_before);
  EXPECT_EQ(copies[0].toTensor().strides(), empty.strides());
}

// as_strided may reach any of a storage from any view of it.
TEST(SnapshotTest, CopiesWholeStorages) {
  const at::Tensor base = at::arange(100.);
  for (const bool on_device : {false, true}) {
    const at::Tensor all = on_device ? ToFakeDevice(base) : base;
    for (const at::Tensor& view :
         {all.as_strided({3}, {1}, 40), all.as_strided({0}, {1}, 40)}) {
      const std::vector<c10::IValue> arguments = {view};
      EXPECT_EQ(BytesReached(arguments, kWholeStorage), 400);
      const auto snapshot = Snapshot::Take(arguments, kWholeStorage);
      ASSERT_THAT(snapshot, IsOk());
      const at::Tensor copy = snapshot->arguments()[0].toTensor();
      EXPECT_TRUE(at::equal(copy.as_strided({100}, {1}, 0), base));
    }
  }
}

TEST(SnapshotTest, RefusesWhatItCannotCopy) {
  const at::Tensor sparse = at::eye(3).to_sparse();
  EXPECT_THAT(Snapshot::Take(std::vector<c10::IValue>{sparse}),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(
      Snapshot::Take(std::vector<c10::IValue>{at::empty({2}, at::kMeta)}),
      StatusIs(absl::StatusCode::kUnimplemented));
}

// A change made between two looks, and what FindChange() is to say of it.
struct ChangeCase {
  std::string name;
  // The arguments, and a change of their memory.
  std::vector<c10::IValue> (*make)();
  void (*change)(std::vector<c10::IValue>& arguments);
  std::vector<bool> writable;
  std::optional<int> argument;  // nullopt: no change is reported
  bool beside = true;
};

void PrintTo(const ChangeCase& c, std::ostream* os) { *os << c.name; }

// All of the storage as bytes.
unsigned char* BytesOf(const c10::IValue& tensor) {
  return static_cast<unsigned char*>(
      tensor.toTensor().storage().mutable_data());
}

std::vector<c10::IValue> OneRow() { return {at::arange(8.)}; }

// Columns 2 to 5 of 8; elements 0, 1, 6, 7 of each row are beside it.
std::vector<c10::IValue> Columns() {
  return {at::arange(32.).reshape({4, 8}).slice(1, 2, 6)};
}

std::vector<c10::IValue> EverySecond() {
  return {at::arange(16.).slice(0, 0, 16, 2)};
}

// The first half is read, the second written.
std::vector<c10::IValue> TwoHalves() {
  const at::Tensor base = at::arange(16.);
  return {base.slice(0, 0, 8), base.slice(0, 8, 16)};
}

void Nothing(std::vector<c10::IValue>&) {}

std::vector<ChangeCase> ChangeCases() {
  return {
      {"NoArguments",
       [] { return std::vector<c10::IValue>{}; },
       &Nothing,
       {},
       std::nullopt},
      {"Empty",
       [] {
         return std::vector<c10::IValue>{at::empty({0, 3})};
       },
       &Nothing,
       {false},
       std::nullopt},
      {"ZeroDim",
       [] { return std::vector<c10::IValue>{at::scalar_tensor(1.)}; },
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[3] ^= 1; },
       {false},
       0},
      {"Unchanged", &OneRow, &Nothing, {false}, std::nullopt},
      {"LastByteOfARead",
       &OneRow,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[8 * 4 - 1] ^= 1; },
       {false},
       0},
      {"MinusZeroForZero",
       &OneRow,
       [](std::vector<c10::IValue>& a) { a[0].toTensor()[0].fill_(-0.); },
       {false},
       0},
      {"Written",
       &OneRow,
       [](std::vector<c10::IValue>& a) { a[0].toTensor().fill_(9); },
       {true},
       std::nullopt},
      {"BeforeAView",
       &Columns,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[1 * 4] ^= 1; },
       {false},
       -1},
      {"AfterAWrittenView",
       &Columns,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[31 * 4] ^= 1; },
       {true},
       -1},
      {"InAGapBetweenRows",
       &Columns,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[8 * 4] ^= 1; },
       {true},
       -1},
      {"InAGapWithoutBeside",
       &Columns,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[8 * 4] ^= 1; },
       {true},
       std::nullopt,
       false},
      {"ElementOfAReadWithoutBeside",
       &Columns,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[10 * 4] ^= 1; },
       {false},
       0,
       false},
      {"InAGapOfEverySecond",
       &EverySecond,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[3 * 4 + 2] ^= 1; },
       {true},
       -1},
      {"AllOfEverySecond",
       &EverySecond,
       [](std::vector<c10::IValue>& a) { a[0].toTensor().zero_(); },
       {true},
       std::nullopt},
      {"Expanded",
       [] {
         return std::vector<c10::IValue>{
             at::arange(3.).unsqueeze(1).expand({3, 4})};
       },
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[2 * 4] ^= 1; },
       {false},
       0},
      {"ExpandedWritten",
       [] {
         return std::vector<c10::IValue>{
             at::arange(3.).unsqueeze(1).expand({3, 4})};
       },
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[2 * 4] ^= 1; },
       {true},
       std::nullopt},
      {"ChannelsLastWritten",
       [] {
         return std::vector<c10::IValue>{
             at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)};
       },
       [](std::vector<c10::IValue>& a) { a[0].toTensor().fill_(9); },
       {true},
       std::nullopt},
      {"HalfInAGap",
       [] {
         return std::vector<c10::IValue>{
             at::arange(9.).to(at::kHalf).slice(0, 1, 9, 3)};
       },
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[2 * 2] ^= 1; },
       {true},
       -1},
      {"ComplexElement",
       [] {
         return std::vector<c10::IValue>{
             at::complex(at::arange(4.), at::ones({4}))};
       },
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[3 * 8 + 4] ^= 1; },
       {false},
       0},
      {"ReadHalfOfASharedStorage",
       &TwoHalves,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[7 * 4] ^= 1; },
       {false, true},
       0},
      {"WrittenHalfOfASharedStorage",
       &TwoHalves,
       [](std::vector<c10::IValue>& a) { BytesOf(a[0])[8 * 4] ^= 1; },
       {false, true},
       std::nullopt},
      {"InAList",
       [] {
         return std::vector<c10::IValue>{
             c10::List<at::Tensor>({at::ones({2}), at::ones({3})})};
       },
       [](std::vector<c10::IValue>& a) {
         a[0].toTensorList().get(1)[2].fill_(7);
       },
       {false},
       0},
      {"SecondArgumentBeforeMemoryBeside",
       [] {
         return std::vector<c10::IValue>{at::arange(16.).slice(0, 4, 8),
                                         at::ones({4})};
       },
       [](std::vector<c10::IValue>& a) {
         BytesOf(a[0])[0] ^= 1;
         BytesOf(a[1])[0] ^= 1;
       },
       {false, false},
       1},
      // A kernel may give an argument other memory; what was there is gone.
      {"Moved",
       &OneRow,
       [](std::vector<c10::IValue>& a) {
         a[0].toTensor().resize_({1 << 16}).fill_(9);
       },
       {false},
       std::nullopt},
  };
}

class FindChangeTest : public testing::TestWithParam<ChangeCase> {};

TEST_P(FindChangeTest, SaysWhatChanged) {
  std::vector<c10::IValue> arguments = GetParam().make();
  const absl::StatusOr<Snapshot> before = Snapshot::Take(arguments, 64);
  ASSERT_THAT(before, IsOk());
  GetParam().change(arguments);
  const std::optional<MemoryChange> change =
      FindChange(*before, arguments, GetParam().writable, GetParam().beside);
  ASSERT_EQ(change.has_value(), GetParam().argument.has_value())
      << (change ? change->message : "");
  if (change) {
    EXPECT_EQ(change->argument, *GetParam().argument);
    EXPECT_NE(change->message, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Changes, FindChangeTest,
                         testing::ValuesIn(ChangeCases()),
                         [](const auto& info) { return info.param.name; });

TEST(FindChangeMessageTest, NamesTheByteBesideAView) {
  std::vector<c10::IValue> arguments = {at::arange(64.).slice(0, 32, 40)};
  const absl::StatusOr<Snapshot> before = Snapshot::Take(arguments, 64);
  ASSERT_THAT(before, IsOk());
  BytesOf(arguments[0])[40 * 4 + 3] ^= 1;
  const auto change = FindChange(*before, arguments, {true}, true);
  ASSERT_TRUE(change.has_value());
  EXPECT_THAT(change->message, testing::HasSubstr("byte 163 "));
}

TEST(SnapshotTest, TheMarginIsCutAtTheEndsOfTheStorage) {
  const at::Tensor base = at::arange(1000.);
  struct Case {
    int64_t first, last, margin, begin, end;  // elements, bytes
  };
  for (const Case& c :
       {Case{500, 510, 0, 2000, 2040}, Case{500, 510, 64, 1936, 2104},
        Case{0, 1000, 64, 0, 4000}, Case{1, 999, 64, 0, 4000},
        // Rounded down, so that wider types keep their offset.
        Case{501, 510, 0, 2000, 2040}}) {
    const absl::StatusOr<Snapshot> snapshot = Snapshot::Take(
        std::vector<c10::IValue>{base.slice(0, c.first, c.last)}, c.margin);
    ASSERT_THAT(snapshot, IsOk());
    ASSERT_EQ(snapshot->ranges().size(), 1u);
    EXPECT_EQ(snapshot->ranges()[0].begin, c.begin);
    EXPECT_EQ(snapshot->ranges()[0].end, c.end);
    EXPECT_EQ(snapshot->nbytes(), c.end - c.begin);
    EXPECT_TRUE(at::equal(snapshot->arguments()[0].toTensor(),
                          base.slice(0, c.first, c.last)));
  }
}

TEST(SnapshotTest, KeepsNanInfMinusZeroAndSubnormalsToTheBit) {
  const at::Tensor x = at::tensor(
      {std::nan(""), HUGE_VAL, -HUGE_VAL, -0., 0x1p-149, 16777217., 0x1p-1074});
  const std::vector<c10::IValue> copies = SnapshotOf({x});
  EXPECT_EQ(std::memcmp(copies[0].toTensor().const_data_ptr(),
                        x.const_data_ptr(), x.nbytes()),
            0);
}

// A copy that is only put into the stream gets what is there by then.
TEST(SnapshotTest, HostCopiesComeLaterIfTheyMay) {
  const HeldFakeDevice held;
  const at::Tensor x = ToFakeDevice(at::arange(6.F).view({2, 3})).t();
  const std::vector<c10::IValue> values = {x, x.device(), at::ones({})};
  const auto device = Snapshot::Take(values, /*margin=*/0, CopyPlace::kDevice);
  ASSERT_TRUE(device.ok()) << device.status();
  CpuAliasOf(x).fill_(7);
  const c10::impl::VirtualGuardImpl impl(x.device().type());
  const c10::StreamGuard guard(impl.getStreamFromGlobalPool(x.device()));
  const auto host =
      Snapshot::Take(device->arguments(), /*margin=*/0, CopyPlace::kHostLater);
  ASSERT_TRUE(host.ok()) << host.status();
  const at::Tensor copy = host->arguments()[0].toTensor();
  copy.fill_(-1);
  HeldFakeDevice::Release();
  EXPECT_TRUE(copy.equal(at::arange(6.F).view({2, 3}).t()));
  EXPECT_EQ(copy.strides(), x.strides());
  EXPECT_EQ(host->arguments()[1].toDevice(), at::Device(at::kCPU));
  EXPECT_EQ(host->arguments()[2].toTensor().item<float>(), 1);
}

}  // namespace
}  // namespace flaggems
