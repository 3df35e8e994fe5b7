# SPDX-License-Identifier: Apache-2.0
# The micro:bit: BUILD/microbit/ciphermote.elf, and the same as .hex for its USB drive. Included by Makefile.
.PHONY: microbit

M0_FLAGS := -mcpu=cortex-m0 -mthumb
# 16 KB of RAM: eighths of a polynomial at a time, and values alone (no model).
M0_APP_FLAGS := $(APP_FLAGS) -iquote microbit -iquote chips -iquote mps2-an386 -iquote health
M0_APP_FLAGS += -DCM_CONFIG_MAX_LOG2_N=$(MAX_LOG2_N) -DAPP_LOG2_TILES=3 -DAPP_WINDOWS=0
# As deep as these leave anything on the stack (tests/core/test_stack.c).
M0_APP_FLAGS += -DCM_CONFIG_WIPE_STACK_BYTES=744 $(CONFIG)
M0_LINK := -nostartfiles -Lmicrobit -Lmps2-an386 -Wl,--gc-sections -Wl,--fatal-warnings \
    -Wl,--no-warn-rwx-segments

chip_names := $(addprefix chips/,cortex_m serial random counter counter_record platform) health/health
m0_names := $(basename $(wildcard microbit/*.c)) $(chip_names) mps2-an386/memory mps2-an386/port \
    $(filter-out app/window_features app/device_record,$(app_names))
m0_objects := $(addprefix $(BUILD)/microbit/,$(addsuffix .o,$(core_names) $(assembly_names) $(m0_names)))
m0_keyed := $(BUILD)/microbit/app/application.o

firmware: $(filter-out $(m0_keyed),$(m0_objects))
microbit: $(BUILD)/generated.stamp $(BUILD)/microbit/ciphermote.hex

$(m0_objects): $(BUILD)/microbit/options.stamp
$(m0_keyed): $(BUILD)/generated.stamp
$(m0_keyed): M0_APP_FLAGS += -I$(GENERATED)

$(BUILD)/microbit/core/%.o: $(ROOT)/core/%.c
	@mkdir -p $(@D)
	$(M4_CC) $(M0_FLAGS) $(FLAGS) $(M0_APP_FLAGS) -I$(ROOT)/core/src -c $< -o $@

$(BUILD)/microbit/core/%.o: $(ROOT)/core/%.S
	@mkdir -p $(@D)
	$(M4_CC) $(M0_FLAGS) $(FLAGS) $(M0_APP_FLAGS) -I$(ROOT)/core/src -c $< -o $@

$(BUILD)/microbit/%.o: %.c
	@mkdir -p $(@D)
	$(M4_CC) $(M0_FLAGS) $(FLAGS) $(M0_APP_FLAGS) -c $< -o $@

$(BUILD)/microbit/ciphermote.elf: $(m0_objects) microbit/application.ld mps2-an386/sections.ld
	$(M4_CC) $(M0_FLAGS) $(M0_LINK) $(LDFLAGS) -Tmicrobit/application.ld -Wl,-Map=$(@:.elf=.map) \
	    $(m0_objects) -o $@
	@! arm-none-eabi-nm $@ | grep -w __aeabi_lmul || { rm $@; \
	    echo 'The function above branches on its operands: use core/src/ring/product.h.' >&2; exit 1; }
	arm-none-eabi-size $@

$(BUILD)/microbit/ciphermote.hex: $(BUILD)/microbit/ciphermote.elf
	arm-none-eabi-objcopy -O ihex $< $@

-include $(m0_objects:.o=.d)
