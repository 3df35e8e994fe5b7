# SPDX-License-Identifier: Apache-2.0
# The chip of rtl/soc. Included by ports/Makefile.
#   make -C ports picorv32 GENERATED=DIR SOC_FLAGS=... [ENGINE=1] [PROGRAM=receiver]
# SOC_FLAGS: the program's APP_..., which rtl/tools/soc.py sets. The image
# is DIR/picorv32/ciphermote.bin, or in picorv32-engine; the library, which knows no keys, goes to BUILD.
.PHONY: picorv32

pico_build := picorv32$(if $(ENGINE),-engine)
pico_library := $(BUILD)/$(pico_build)
pico_at := $(abspath $(GENERATED))/$(pico_build)
PICO_FLAGS := -march=rv32imc -mabi=ilp32 --specs=picolibc.specs
PICO_FLAGS += -DCM_CONFIG_PRESET=CM_CONFIG_PRESET_FAST -iquote picorv32 -iquote client-engine -iquote app
PICO_FLAGS += $(if $(ENGINE),-DCM_ARCH_HEADER='"client_arch.h"')
pico_memory := __flash=0 __flash_size=512K __ram=0x80000 __ram_size=512K __stack_size=16K
PICO_LINK := --crt0=hosted -Tpicolibc.ld -Wl,--gc-sections -Wl,--fatal-warnings -Wl,--no-warn-rwx-segments
PICO_LINK += $(foreach symbol,$(pico_memory),-Wl,--defsym=$(symbol))
PROGRAM := main
pico_names := picorv32/$(PROGRAM) picorv32/console picorv32/platform picorv32/word_memory
pico_driver := $(addprefix client-engine/client_,engine encrypt decrypt)
pico_names += $(if $(filter aided,$(PROGRAM)),app/rounds)
pico_names += $(if $(ENGINE),picorv32/engine $(pico_driver),picorv32/software)
pico_objects := $(core_names:%=$(pico_library)/%.o) $(pico_names:%=$(pico_at)/%.o)

$(pico_library)/core/%.o: $(ROOT)/core/%.c
	@mkdir -p $(@D)
	$(OBJCACHE) $(RISCV_CC) $(PICO_FLAGS) $(FLAGS) -I$(ROOT)/core/src -c $< -o $@

$(pico_at)/%.o: %.c
	@mkdir -p $(@D)
	$(RISCV_CC) $(PICO_FLAGS) $(SOC_FLAGS) $(FLAGS) -I$(GENERATED) -I$(ROOT)/core/src -c $< -o $@

$(pico_at)/picorv32/word_memory.o: FLAGS += -fno-tree-loop-distribute-patterns

$(pico_at)/ciphermote.elf: $(pico_objects)
	$(RISCV_CC) $(PICO_FLAGS) $(PICO_LINK) $(pico_objects) -o $@

$(pico_at)/ciphermote.bin: $(pico_at)/ciphermote.elf
	riscv64-unknown-elf-objcopy -O binary $< $@

picorv32: $(pico_at)/ciphermote.bin

-include $(pico_objects:.o=.d)
