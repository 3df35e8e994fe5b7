# SPDX-License-Identifier: Apache-2.0
# Firmware for chips: BUILD/CHIP/ciphermote.elf for each of CHIPS, and `make chips` for all. Included by
# Makefile. GENERATED has provisioned_keys.h; the application takes values, and no windows.
CHIPS := rp2040 rp2350 rp2350-riscv nrf5340 stm32u5
.PHONY: chips $(CHIPS) $(CHIPS:%=%-objects)

chips: $(CHIPS)

RISCV_TOOLS := riscv64-unknown-elf-
CHIP_SHARED := $(addprefix chips/,serial random counter counter_record platform) health/health \
    mps2-an386/memory mps2-an386/port $(filter-out app/window_features app/device_record,$(app_names))

# By chip: the compiler's flags, folders of its own (the first has application.ld), and files from elsewhere.
chip.rp2040.flags := -mcpu=cortex-m0plus -mthumb
chip.rp2040.folders := rp2040 rp2
chip.rp2040.files := chips/cortex_m rp2040/boot2
chip.rp2350.flags := -mcpu=cortex-m33 -mthumb -mfloat-abi=soft
chip.rp2350.folders := rp2350 rp2
chip.rp2350.files := chips/cortex_m chips/cc_trng
chip.rp2350.without := rp2350/reset
chip.rp2350-riscv.flags := -march=rv32imac_zba_zbb -mabi=ilp32 -msmall-data-limit=0 --specs=picolibc.specs
# picolibc has no variant with Zba and Zbb; that without links to it.
chip.rp2350-riscv.link := -march=rv32imac
chip.rp2350-riscv.tools := $(RISCV_TOOLS)
chip.rp2350-riscv.folders := rp2350 rp2
chip.rp2350-riscv.files := chips/riscv chips/cc_trng
chip.nrf5340.flags := -mcpu=cortex-m33 -mthumb -mfloat-abi=soft
chip.nrf5340.folders := nrf5340
chip.nrf5340.files := chips/cortex_m chips/cc_trng
chip.stm32u5.flags := -mcpu=cortex-m33 -mthumb -mfloat-abi=soft
chip.stm32u5.folders := stm32u5
chip.stm32u5.files := chips/cortex_m

# What encryption of whole polynomials leaves on the stack is deeper than the library wipes unless it is told.
CHIP_OPTIONS = -DCM_CONFIG_MAX_LOG2_N=$(MAX_LOG2_N) -DCM_CONFIG_WIPE_STACK_BYTES=4096 -DAPP_WINDOWS=0

# chip_firmware CHIP
define chip_firmware
$(1)_tools := $$(or $$(chip.$(1).tools),arm-none-eabi-)
$(1)_own := $$(basename $$(wildcard $$(addsuffix /*.c,$$(chip.$(1).folders)))) $$(chip.$(1).files)
$(1)_names := $$(core_names) $$(assembly_names) $$(CHIP_SHARED)
$(1)_names += $$(filter-out $$(chip.$(1).without),$$($(1)_own))
$(1)_objects := $$(addprefix $$(BUILD)/$(1)/,$$(addsuffix .o,$$($(1)_names)))
$(1)_keyed := $$(BUILD)/$(1)/app/application.o
$(1)_flags := $$(chip.$(1).flags) $$(FLAGS) $$(APP_FLAGS) $$(CHIP_OPTIONS) $$(CONFIG) \
    $$(addprefix -iquote ,$$(chip.$(1).folders) chips mps2-an386 health) -I$$(ROOT)/core/src

$$($(1)_objects): $$(BUILD)/$(1)/options.stamp
$$($(1)_keyed): $$(BUILD)/generated.stamp
$$($(1)_keyed): $(1)_flags += -I$$(GENERATED)

$$(BUILD)/$(1)/core/%.o: $$(ROOT)/core/%.c
	@mkdir -p $$(@D)
	$$($(1)_tools)gcc $$($(1)_flags) -c $$< -o $$@

$$(BUILD)/$(1)/core/%.o: $$(ROOT)/core/%.S
	@mkdir -p $$(@D)
	$$($(1)_tools)gcc $$($(1)_flags) -c $$< -o $$@

$$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$($(1)_tools)gcc $$($(1)_flags) -c $$< -o $$@

$$(BUILD)/$(1)/%.o: %.S
	@mkdir -p $$(@D)
	$$($(1)_tools)gcc $$($(1)_flags) -c $$< -o $$@

$$(BUILD)/$(1)/ciphermote.elf: $$($(1)_objects) $$(wildcard $$(firstword $$(chip.$(1).folders))/*.ld) \
    chips/ram_code.ld mps2-an386/sections.ld
	$$($(1)_tools)gcc $$(chip.$(1).flags) $$(chip.$(1).link) -nostartfiles -Lchips -Lmps2-an386 \
	    -Wl,--gc-sections -Wl,--fatal-warnings -Wl,--no-warn-rwx-segments $$(LDFLAGS) \
	    -T$$(firstword $$(chip.$(1).folders))/application.ld -Wl,-Map=$$(@:.elf=.map) $$($(1)_objects) -o $$@
	@$$(if $$(findstring m0plus,$$(chip.$(1).flags)),! arm-none-eabi-nm $$@ | grep -w __aeabi_lmul || { rm $$@; \
	    echo 'The function above branches on its operands: use core/src/ring/product.h.' >&2; exit 1; })
	$$($(1)_tools)size $$@

$(1): $$(BUILD)/generated.stamp $$(BUILD)/$(1)/ciphermote.elf
$(1)-objects: $$(filter-out $$($(1)_keyed),$$($(1)_objects))

-include $$($(1)_objects:.o=.d)
endef

$(foreach chip,$(CHIPS),$(eval $(call chip_firmware,$(chip))))
