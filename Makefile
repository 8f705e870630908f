# Phloem: the commands of everyday work.  `make help` lists them.
# Meson does the building; this file only calls it, after tools/setup has put in what is missing.
BUILD  ?= build
PREFIX ?= /usr/local

SANITIZED := $(BUILD)-sanitized
COVERED   := $(BUILD)-coverage
THREADS   := $(BUILD)-threads
# Without dpkg-dev meson would guess lib64, where Debian does not look.
PLACES := -Dprefix=$(PREFIX) -Dlibdir=lib

# $(call configure,FOLDER,OPTIONS): a meson build folder, made once.
configure = test -f $(1)/build.ninja || meson setup $(1) $(2)

.PHONY: all help demo test test-long bench bench-compare lint install dist deb clean
all:
	@tools/setup build
	@$(call configure,$(BUILD),$(PLACES))
	@meson compile -C $(BUILD)

help:
	@echo "make            build the library and the command line in $(BUILD)/"
	@echo "make demo       a tour of what phloem does; leaves its files in demo/"
	@echo "make test       all tests, then once more under sanitizers"
	@echo "make test-long  coverage, valgrind, thread sanitizer, long fuzzing and other slow tests"
	@echo "make bench      speed and memory, as ratios; three to five minutes on a quiet machine"
	@echo "make bench-compare OLD.json   bench/results.json against older results: what became worse"
	@echo "make lint       formatting, warnings, layers and house rules"
	@echo "make install    into PREFIX ($(PREFIX)); DESTDIR is honoured"
	@echo "make dist       phloem-VERSION.tar.gz of the last commit"
	@echo "make deb        Debian packages of the last commit, in packages/"
	@echo "make clean      remove the build folders and demo/"
	@echo "BUILD=folder chooses another build folder."

demo:
	@tools/setup build
	@$(call configure,$(BUILD),$(PLACES))
	@ninja -C $(BUILD) cli/phloem
	@test ! -d $(BUILD)/python/phloem || ninja -C $(BUILD) python-package
	@tools/demo $(BUILD)

test:
	@tools/setup test
	@$(call configure,$(BUILD),$(PLACES))
	@$(call configure,$(SANITIZED),-Db_sanitize=address$(comma)undefined -Doptimization=1)
	@test -d $(BUILD)/python/phloem || meson setup --reconfigure $(BUILD) # configured without cffi
	@meson compile -C $(BUILD)
	@meson compile -C $(SANITIZED)
	@tools/run-tests $(BUILD):unit,law,oracle,cli,edges,docs,tools,fuzz,python $(SANITIZED):unit,cli

test-long:
	@tools/setup long bare browser
	@$(call configure,$(BUILD),$(PLACES))
	@$(call configure,$(COVERED),-Db_coverage=true -Doptimization=0 -Dc_args=-fprofile-update=atomic)
	@CC=clang; export CC; $(call configure,$(THREADS),-Db_sanitize=thread -Db_lundef=false -Doptimization=1)
	@meson compile -C $(BUILD)
	@meson compile -C $(COVERED)
	@meson compile -C $(THREADS)
	@tools/run-tests $(COVERED):unit,cli:coverage $(THREADS):threads $(BUILD):unit:valgrind $(BUILD):long

bench:
	@tools/setup bench
	@$(call configure,$(BUILD),$(PLACES))
	@meson compile -C $(BUILD)
	@bench/run $(BUILD)

# `make bench-compare old.json` and `make bench-compare OLD=old.json` are the same.
bench-compare:
	@bench/run --compare $(or $(OLD),$(COMPARED),$(error give older results: make bench-compare old.json))
ifneq ($(filter bench-compare,$(MAKECMDGOALS)),)
COMPARED := $(filter %.json,$(MAKECMDGOALS))
.PHONY: $(COMPARED)
$(COMPARED): ; @:
endif

lint:
	@tools/setup lint
	@$(call configure,$(BUILD)-gcc,-Dwerror=true)
	@CC=clang; export CC; $(call configure,$(BUILD)-clang,-Dwerror=true)
	@tools/lint $(BUILD)-gcc $(BUILD)-clang

install: all
	@meson configure $(BUILD) $(PLACES)
	@meson install -C $(BUILD)
	@test -n "$(DESTDIR)" || test "$$(id -u)" -ne 0 || ldconfig
	@case "$(PREFIX)" in /usr|/usr/local) ;; *) \
	    echo "to compile programs with it:  export PKG_CONFIG_PATH=$(PREFIX)/lib/pkgconfig";; esac

# A tarball of what git knows, which builds without git.
dist:
	@version=$$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build); \
	git archive --format=tar --prefix=phloem-$$version/ HEAD | gzip -9n > phloem-$$version.tar.gz && \
	echo "phloem-$$version.tar.gz"

# Debian packages of the last commit, in packages/, looked over by lintian.
deb:
	@tools/setup packages
	@tools/deb packages

clean:
	rm -rf $(BUILD) $(SANITIZED) $(BUILD)-gcc $(BUILD)-clang $(BUILD)-fuzz $(COVERED) $(THREADS) demo packages

comma := ,
