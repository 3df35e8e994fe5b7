# SPDX-License-Identifier: Apache-2.0
# The library's own tests on further simulated cores. Included by Makefile.
#   test-qemu-m0         code for the Cortex-M0, on a Cortex-M3 that traps unaligned accesses, as an M0
#                        does: QEMU has no M0 with enough RAM
#   test-qemu-m33        Cortex-M33, with the Cortex-M4's assembly too
#   test-qemu-m7         Cortex-M7, which test-qemu leaves out: it is the nearest to the Cortex-M4
#   test-qemu-m55        Cortex-M55, with Helium
#   test-qemu-riscv32    RISC-V, rv32imac; needs Debian's gcc-riscv64-unknown-elf,
#                        picolibc-riscv64-unknown-elf and qemu-system-misc
.PHONY: test-qemu-m0 test-qemu-m33 test-qemu-m55 test-qemu-m7 test-qemu-riscv32

test-qemu: test-qemu-m0 test-qemu-m33 test-qemu-m55 test-qemu-riscv32

RUN_ARM := timeout $(QEMU_TEST_SECONDS) $(QEMU) -display none -monitor none -serial stdio \
    -semihosting-config enable=on,target=native

# arm_tests TARGET, MACHINE, COMPILER'S FLAGS, DIRECTORY OF core_tests.ld
define arm_tests
$(1)_objects := $$(core_names) $$(assembly_names) $$(m4_test_names) $$(test_names)
$(1)_objects := $$(addprefix $$(BUILD)/$(1)/,$$(addsuffix .o,$$($(1)_objects)))

$$($(1)_objects): $$(BUILD)/$(1)/options.stamp

$$(BUILD)/$(1)/%.o: $$(ROOT)/%.c
	@mkdir -p $$(@D)
	$$(M4_CC) $(3) -mthumb $$(FLAGS) $$(TEST_FLAGS) $$(CONFIG) -c $$< -o $$@

$$(BUILD)/$(1)/%.o: $$(ROOT)/%.S
	@mkdir -p $$(@D)
	$$(M4_CC) $(3) -mthumb $$(FLAGS) $$(TEST_FLAGS) $$(CONFIG) -c $$< -o $$@

$$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(M4_CC) $(3) -mthumb $$(FLAGS) $$(CONFIG) -c $$< -o $$@

$$(BUILD)/$(1)/core_tests.elf: $$($(1)_objects) $(4)/core_tests.ld mps2-an386/sections.ld
	$$(M4_CC) $(3) -mthumb $$(M4_LINK) -T$(4)/core_tests.ld $$($(1)_objects) -o $$@

$(1): $$(BUILD)/$(1)/core_tests.elf
	$$(RUN_ARM) -M $(2) -kernel $$< </dev/null

-include $$($(1)_objects:.o=.d)
endef

# Assembly for other cores guards itself: here it is empty.
M0_FLAGS := -mcpu=cortex-m0
M33_FLAGS := -mcpu=cortex-m33 -mfloat-abi=soft -DUART_BASE=0x50200000u
M55_FLAGS := -mcpu=cortex-m55 -mfloat-abi=hard -DUART_BASE=0x59303000u
M7_FLAGS := -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16

$(eval $(call arm_tests,test-qemu-m0,mps2-an385,$(M0_FLAGS),mps2-an386))
$(eval $(call arm_tests,test-qemu-m33,mps2-an505,$(M33_FLAGS),mps2-an505))
$(eval $(call arm_tests,test-qemu-m55,mps3-an547,$(M55_FLAGS),mps3-an547))
$(eval $(call arm_tests,test-qemu-m7,mps2-an500,$(M7_FLAGS),mps2-an386))

# ---- RISC-V: picolibc's start-up code and linker script ----

RISCV_CC := riscv64-unknown-elf-gcc
RISCV_FLAGS := -march=rv32imac -mabi=ilp32 --specs=picolibc.specs
riscv_memory := __flash=0x80000000 __flash_size=4M __ram=0x80400000 __ram_size=16M __stack_size=512K
RISCV_LINK := --crt0=hosted -Tpicolibc.ld $(riscv_memory:%=-Wl,--defsym=%) -Wl,--gc-sections \
    -Wl,--fatal-warnings -Wl,--no-warn-rwx-segments

riscv_names := $(core_names) $(test_names) riscv-virt/test_runtime
riscv_objects := $(addprefix $(BUILD)/test-qemu-riscv32/,$(addsuffix .o,$(riscv_names)))

$(riscv_objects): $(BUILD)/test-qemu-riscv32/options.stamp

$(BUILD)/test-qemu-riscv32/%.o: $(ROOT)/%.c
	@mkdir -p $(@D)
	$(RISCV_CC) $(RISCV_FLAGS) $(FLAGS) $(TEST_FLAGS) $(CONFIG) -c $< -o $@

$(BUILD)/test-qemu-riscv32/%.o: %.c
	@mkdir -p $(@D)
	$(RISCV_CC) $(RISCV_FLAGS) $(FLAGS) $(CONFIG) -c $< -o $@

$(BUILD)/test-qemu-riscv32/core_tests.elf: $(riscv_objects)
	$(RISCV_CC) $(RISCV_FLAGS) $(RISCV_LINK) $(riscv_objects) -o $@

test-qemu-riscv32: $(BUILD)/test-qemu-riscv32/core_tests.elf
	timeout $(QEMU_TEST_SECONDS) qemu-system-riscv32 -M virt -bios none -display none -monitor none \
	    -serial stdio -kernel $< </dev/null

-include $(riscv_objects:.o=.d)
