#ifndef CONSUMER_ABS_KERNEL_H_
#define CONSUMER_ABS_KERNEL_H_

namespace consumer {

// Makes the kernel for aten::abs forget the sign bit of its last element, as a
// vectorised loop without its tail would. Not thread-safe.
void PlantTailError();

}  // namespace consumer

#endif  // CONSUMER_ABS_KERNEL_H_
