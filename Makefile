# Phloem: the commands of everyday work.  `make help` lists them.
# Meson does the building; this file only calls it, after tools/setup has put in what is missing.
BUILD  ?= build
PREFIX ?= /usr/local

SANITIZED := $(BUILD)-sanitized

# $(call configure,FOLDER,OPTIONS): a meson build folder, made once.
configure = test -f $(1)/build.ninja || meson setup $(1) $(2)

.PHONY: all help demo test test-long bench lint install clean
all:
	@tools/setup build
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@meson compile -C $(BUILD)

help:
	@echo "make            build the library and the command line in $(BUILD)/"
	@echo "make demo       a tour of what phloem does; leaves its files in demo/"
	@echo "make test       all tests, then once more under sanitizers"
	@echo "make test-long  valgrind, long fuzzing and other slow tests"
	@echo "make bench      speed and memory"
	@echo "make lint       formatting, warnings, layers and house rules"
	@echo "make install    into PREFIX ($(PREFIX)); DESTDIR is honoured"
	@echo "make clean      remove the build folders and demo/"
	@echo "BUILD=folder chooses another build folder."

demo: all
	@tools/demo $(BUILD)

test:
	@tools/setup test
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@$(call configure,$(SANITIZED),-Db_sanitize=address$(comma)undefined -Doptimization=1)
	@meson compile -C $(BUILD)
	@meson compile -C $(SANITIZED)
	@tools/run-tests $(BUILD):unit,cli,docs,tools $(SANITIZED):unit,cli

test-long:
	@tools/setup long
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@meson compile -C $(BUILD)
	@tools/test-long $(BUILD)

bench:
	@tools/setup bench
	@$(call configure,$(BUILD),--prefix=$(PREFIX))
	@meson compile -C $(BUILD)
	@bench/run $(BUILD)

lint:
	@tools/setup lint
	@$(call configure,$(BUILD)-gcc,-Dwerror=true)
	@CC=clang; export CC; $(call configure,$(BUILD)-clang,-Dwerror=true)
	@tools/lint $(BUILD)-gcc $(BUILD)-clang

install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(SANITIZED) $(BUILD)-gcc $(BUILD)-clang $(BUILD)-fuzz demo

comma := ,
