import { readFileSync, readdirSync, statSync } from 'node:fs'

/** An attempt to get out of a container: a shell script that prints `escaped` if it succeeds. */
export interface EscapeAttempt {
  readonly name: string
  readonly script: string
  /** A test whether the machine has what is attacked; otherwise trying it on the machine proves nothing. */
  readonly needs?: string
  /** The number of the capability it takes, which the machine's root may lack, too. */
  readonly right?: number
}

/**
 * What scripts know of the machine, as variables:
 * - SECRET: a file in the data directory; NEIGHBOUR, NEIGHBOUR_MEMORY: files in volumes of another Pod; LOGS: a file in
 *   the folder of logs
 * - OUTSIDE_PID, OUTSIDE_START: a process of the machine; FIRST: the first process of the container, on the machine
 *   that same process
 * - SCRATCH: a folder to write to; SOCKET: a socket that somebody listens at; SEGMENT: the key of shared memory; KEY:
 *   of a keyring
 * - HANDLE: the machine's root as the file system knows it, in hexadecimal; ID_…: which file a folder of the machine is
 */
const files: EscapeAttempt[] = [
  ...[
    ['/', 'ROOT'],
    ['/root', 'HOME_OF_ROOT'],
    ['/home', 'HOMES'],
    ['/tmp', 'TMP'],
    ['/var/tmp', 'VAR_TMP'],
    ['/run', 'RUN'],
    ['/var/log', 'LOG'],
    ['/var/lib', 'STATE'],
    ['/etc', 'ETC'],
    ['/dev', 'DEV'],
    ['/dev/shm', 'SHM'],
    ['/dev/pts', 'PTS'],
    ['/proc', 'PROC'],
  ].map(([path = '', id = '']) => ({
    name: `sees the machine's ${path}`,
    script: `[ "$(stat -c %d:%i ${path})" = "$ID_${id}" ] && echo escaped`,
  })),
  { name: "reads the machine's /etc/shadow", script: 'reads /etc/shadow' },
  {
    name: "reads the machine's host keys",
    script: 'reads /etc/ssh/ssh_host_ed25519_key',
    needs: '/etc/ssh/ssh_host_ed25519_key',
  },
  {
    name: 'lists private keys of the machine',
    script: 'ls /etc/ssl/private >/dev/null && echo escaped',
    needs: '/etc/ssl/private',
  },
  {
    name: 'asks the container runtime of the machine',
    script: 'ls /var/run/docker.sock && echo escaped',
    needs: '/var/run/docker.sock',
  },
  { name: 'changes a program of the machine', script: 'opensForWriting /usr/bin/env' },
  {
    name: 'changes the mode of a program of the machine',
    script: 'chmod "$(stat -c %a /usr/bin/env)" /usr/bin/env && echo escaped',
  },
  {
    name: 'adds a program to those of the machine',
    script: 'mkdir "/usr/bin/try.$SHELL_PID" && rmdir "/usr/bin/try.$SHELL_PID" && echo escaped',
  },
  { name: "changes the machine's users", script: 'opensForWriting /etc/passwd' },
  {
    name: 'gives a program of the machine a second name',
    script: 'ln /usr/bin/env "$SCRATCH/env.$SHELL_PID" && echo escaped',
  },
  {
    name: 'connects to a socket of the machine',
    script: `perl -MSocket -e 'socket(S, 1, 1, 0); connect(S, pack_sockaddr_un($ENV{SOCKET})) and print "escaped"'`,
  },
]

const data: EscapeAttempt[] = [
  { name: 'reads the data directory by its path', script: 'reads "$SECRET"' },
  {
    name: 'reads the data directory upwards from its own folder',
    script: 'cd "$SCRATCH"; reads "./../../../../../../../../../../../..$SECRET"',
  },
  {
    name: 'reads the data directory by /proc/self/cwd',
    script: 'reads "/proc/self/cwd/../../../../../../../../..$SECRET"',
  },
  { name: 'reads the data directory by /proc/self/root', script: 'reads "/proc/self/root$SECRET"' },
  { name: "reads the data directory by the first process's root", script: 'reads "/proc/$FIRST/root$SECRET"' },
  {
    name: "reads the data directory by the first process's folder",
    script: 'reads "/proc/$FIRST/cwd/../../../../../../../../..$SECRET"',
  },
  {
    name: 'reads the data directory by a link in a volume',
    script: 'ln -s "$SECRET" "$SCRATCH/link.$SHELL_PID"; reads "$SCRATCH/link.$SHELL_PID"',
  },
  {
    name: 'reads the data directory by what mounts are called',
    script: `awk '{print $4}' /proc/self/mountinfo "/proc/$FIRST/mountinfo" | sort -u | while read -r p; do reads "$p$SECRET"; reads "$p/../secret"; done; reads "$SECRET"`,
  },
  { name: 'reads a volume of another Pod', script: 'reads "$NEIGHBOUR"' },
  { name: 'reads a volume in memory of another Pod', script: 'reads "$NEIGHBOUR_MEMORY"' },
  { name: 'reads what others said', script: 'reads "$LOGS"' },
  {
    name: 'reads the folder that its output lies in',
    script:
      'd="$(dirname "$(readlink "/proc/$SHELL_PID/fd/1")")"; case $d in /dev/pts) [ "$(stat -c %d:%i "$d")" = "$ID_PTS" ] && echo escaped;; /*) ls "$d" >/dev/null && echo escaped;; esac',
  },
  {
    name: 'keeps the file it writes to under another name',
    script: 'ln -L "/proc/$SHELL_PID/fd/1" "$SCRATCH/output.$SHELL_PID" && echo escaped',
  },
  {
    name: 'has something open that is none of its three streams',
    script: `perl -e '-e "/proc/self/fd/$_" && print "escaped" for 3 .. 300'`,
  },
  { name: 'finds a secret in its environment', script: 'env | grep -q "^SLUICE_TEST_SECRET=" && echo escaped' },
  {
    name: 'finds a secret in the environment of others',
    script: 'cat /proc/[0-9]*/environ | grep -qa SLUICE_TEST_SECRET= && echo escaped',
  },
]

const processes: EscapeAttempt[] = [
  { name: 'sees a process of the machine', script: 'seesOutside' },
  {
    name: 'signals a process of the machine',
    script: 'seesOutside >/dev/null; [ "$(seesOutside)" ] && kill -0 "$OUTSIDE_PID" && echo escaped',
  },
  {
    name: 'reads the environment of the first process',
    script: 'cat "/proc/$FIRST/environ" >/dev/null && echo escaped',
  },
  {
    name: 'reads the memory of the first process',
    script: 'reads "/proc/$FIRST/maps"; opensForWriting "/proc/$FIRST/mem"',
  },
  { name: 'reads what the first process has open', script: 'readlink "/proc/$FIRST/fd/1" && echo escaped' },
  { name: 'reaches the program of the first process', script: 'readlink "/proc/$FIRST/exe" && echo escaped' },
  { name: 'traces the first process', script: `call ptrace 0x4206 "$FIRST" 0 0` },
  {
    name: 'takes a descriptor of the first process',
    script: `perl -e '$p = syscall(434, 0 + $ENV{FIRST}, 0); $r = syscall(438, $p, 1, 0); print "escaped" if $p >= 0 && $r >= 0'`,
  },
  {
    name: 'reads the memory of the first process by a call',
    script: `perl -e '$b = "x" x 8; $l = pack "PQ", $b, 8; $r = pack "QQ", 4096, 8; $n = $ENV{MACHINE} eq "x64" ? 310 : 270; syscall($n, 0 + $ENV{FIRST}, $l, 1, $r, 1, 0) < 0 && $! == 1 or print "escaped"'`,
  },
  { name: 'enters the mounts of the first process', script: 'nsenter -t "$FIRST" -m true && echo escaped' },
  { name: 'enters the processes of the first process', script: 'nsenter -t "$FIRST" -p true && echo escaped' },
  {
    name: 'finds shared memory of the machine',
    script: `perl -e 'defined shmget(0 + $ENV{SEGMENT}, 0, 0) and print "escaped"'`,
  },
  {
    name: "finds a key of the machine's root",
    script: `perl -e '$t = "user"; $k = $ENV{KEY}; $n = $ENV{MACHINE} eq "x64" ? 250 : 219; syscall($n, 10, -4, $t, $k, 0) > 0 and print "escaped"'`,
  },
  {
    name: 'may have more files open than it was given',
    script: 'ulimit -n "$(($(ulimit -Hn) + 1))" && echo escaped',
    right: 24,
  },
  {
    name: 'is spared when memory runs out',
    script: '(echo -1000 >/proc/self/oom_score_adj) && echo escaped',
    right: 24,
  },
  { name: 'goes before everybody else', script: '[ "$(nice -n -5 nice)" -lt 0 ] && echo escaped' },
  { name: 'runs in real time', script: 'chrt -f 1 true && echo escaped' },
]

const kernel: EscapeAttempt[] = [
  ...[
    '/proc/sys/kernel/core_pattern',
    '/proc/sys/kernel/modprobe',
    '/proc/sys/kernel/hostname',
    '/proc/sys/vm/drop_caches',
    '/proc/sys/kernel/randomize_va_space',
    '/proc/sysrq-trigger',
    '/proc/irq/default_smp_affinity',
    '/sys/kernel/uevent_helper',
    '/sys/kernel/mm/transparent_hugepage/enabled',
    '/sys/module/kernel/parameters/panic',
    '/sys/power/state',
  ].map((path) => ({ name: `writes to ${path}`, script: `opensForWriting ${path}`, needs: path })),
  ...[
    '/proc/kcore',
    '/proc/timer_list',
    '/proc/interrupts',
    '/proc/keys',
    '/proc/acpi',
    '/sys/firmware',
    '/sys/kernel/debug',
    '/sys/kernel/tracing',
  ].map((path) => ({
    name: `reads ${path}`,
    script: `if [ -d ${path} ]; then [ "$(ls -A ${path})" ] && echo escaped; else [ "$(head -c 1 ${path} | wc -c)" = 1 ] && echo escaped; fi`,
    needs: path,
  })),
  { name: 'learns where the kernel lies', script: `grep -qv '^0000000000000000 ' /proc/kallsyms && echo escaped` },
  { name: "reads the kernel's messages", script: 'call syslog 10 0 0' },
  { name: 'loads a module', script: 'refusedCall init_module 0 0 0', needs: '/proc/modules' },
  { name: 'loads another kernel', script: 'refusedCall kexec_load 0 0 0 0xff00', needs: '/sys/kernel/kexec_loaded' },
  { name: 'restarts the machine', script: 'refusedCall reboot 0xfee1dead 672274793 4660 0' },
  {
    name: 'looks at programs in the kernel',
    script: `perl -e '$a = pack "L4", 0, 0, 0, 0; $n = $ENV{MACHINE} eq "x64" ? 321 : 280; syscall($n, 11, $a, 16) < 0 && $! == 1 or print "escaped"'`,
  },
  { name: 'listens to all that is done with files', script: 'call fanotify_init 0 0' },
  { name: 'calls the machine something else', script: 'hostname "$(hostname)" && echo escaped' },
  { name: "sends what it likes on the machine's network", script: `perl -e 'socket(S, 17, 3, 0) and print "escaped"'` },
]

const mounts: EscapeAttempt[] = [
  {
    name: 'mounts a file system',
    script:
      'mkdir "$SCRATCH/m.$SHELL_PID"; mount -t tmpfs none "$SCRATCH/m.$SHELL_PID" && umount "$SCRATCH/m.$SHELL_PID" && echo escaped',
  },
  {
    name: 'mounts a folder elsewhere',
    script:
      'mkdir "$SCRATCH/b.$SHELL_PID"; mount --bind /usr "$SCRATCH/b.$SHELL_PID" && umount "$SCRATCH/b.$SHELL_PID" && echo escaped',
  },
  { name: 'mounts by the new calls', script: `perl -e '$t = "tmpfs"; syscall(430, $t, 1) >= 0 and print "escaped"'` },
  {
    name: 'copies mounts by the new calls',
    script: `perl -e '$p = "/usr"; syscall(428, -100, $p, 1) >= 0 and print "escaped"'`,
  },
  {
    name: 'uncovers what was covered',
    script:
      'umount /proc/interrupts && echo escaped; umount /proc/keys && echo escaped; [ "$(head -c 1 /proc/interrupts | wc -c)" = 1 ] && echo escaped',
  },
  {
    name: "makes the machine's programs writable",
    script: 'mount -o remount,bind,rw /usr; opensForWriting /usr/bin/env',
  },
  {
    name: 'makes the settings of the kernel writable',
    script: 'mount -o remount,bind,rw /proc/sys; opensForWriting /proc/sys/kernel/core_pattern',
  },
  { name: 'takes a mount namespace of its own', script: 'unshare -m true && echo escaped' },
  { name: 'takes a network of its own', script: 'unshare -n true && echo escaped' },
  { name: 'becomes root of other users', script: 'unshare -U true && echo escaped' },
  {
    name: 'becomes root of other users, by clone',
    script: `perl -e '$n = $ENV{MACHINE} eq "x64" ? 56 : 220; $p = syscall($n, 0x10000011, 0, 0, 0, 0); exit 0 if $p == 0; print "escaped" if $p > 0'`,
  },
  { name: 'mounts all processes anew', script: 'unshare -Urmpf mount -t proc none "$SCRATCH" && echo escaped' },
  {
    name: 'mounts the control groups',
    script:
      'mkdir "$SCRATCH/c.$SHELL_PID"; unshare -UrmC mount -t cgroup2 none "$SCRATCH/c.$SHELL_PID" && echo escaped',
  },
  {
    name: 'has the kernel run a program when a group is empty',
    script:
      'mkdir "$SCRATCH/r.$SHELL_PID"; unshare -UrmC sh -c \'mount -t cgroup -o "$1" none "$0" && [ -e "$0/cgroup.procs" ] && echo escaped\' "$SCRATCH/r.$SHELL_PID" "$OLD_GROUPS"',
    needs: '/sys/fs/cgroup/memory',
  },
  {
    name: 'writes to its control group',
    script: 'for f in $(find /sys/fs/cgroup -name cgroup.procs); do opensForWriting "$f"; done | head -n 1',
  },
  {
    name: 'leaves by a second root and an open folder',
    script: `mkdir "$SCRATCH/j.$SHELL_PID"; J="$SCRATCH/j.$SHELL_PID" perl -e 'opendir D, "/"; chroot $ENV{J}; chdir D; chdir ".." for 1 .. 99; chroot "."; my @s = stat "/"; print "escaped" if "$s[0]:$s[1]" eq $ENV{ID_ROOT}'`,
  },
  {
    name: "opens the machine's root by its handle",
    script: `perl -e '$h = pack "H*", $ENV{HANDLE}; open D, "<", "/usr"; $n = $ENV{MACHINE} eq "x64" ? 304 : 265; syscall($n, fileno D, $h, 0) >= 0 and print "escaped"'`,
  },
]

const devices: EscapeAttempt[] = [
  ...['$SCRATCH', '/tmp', '/dev', '/dev/shm'].map((folder) => ({
    name: `makes a device in ${folder}`,
    script: `p="${folder}/device.$SHELL_PID"; mknod "$p" c 1 9 && head -c 1 "$p" >/dev/null && echo escaped; rm -f "$p"`,
  })),
  {
    name: 'has a device that is not for containers',
    script: String.raw`find /dev \( -type b -o -type c \) | grep -Ev '^/dev/(null|zero|full|random|urandom|tty|pts/.*)$' | grep -q . && echo escaped`,
  },
  { name: 'closes a device to others', script: 'chmod 0666 /dev/null && echo escaped' },
  { name: 'gives a device away', script: 'chown 0:0 /dev/full && echo escaped' },
  { name: 'changes the time of a device', script: 'touch -c -a /dev/zero && echo escaped' },
]

/**
 * DAC_READ_SEARCH, NET_ADMIN, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_PACCT, SYS_ADMIN, SYS_BOOT, SYS_RESOURCE,
 * SYS_TIME, SYSLOG, PERFMON, BPF
 */
const rightsOverMachine = [2, 12, 16, 17, 19, 20, 21, 22, 24, 25, 34, 38, 39].reduce((sum, bit) => sum + 2 ** bit, 0)

const rights: EscapeAttempt[] = [
  {
    name: 'has a right over the machine',
    script: `perl -ne '/^Cap\\w+:\\s+(\\w+)/ and hex($1) & ${rightsOverMachine} and print "escaped"' /proc/self/status`,
  },
  {
    name: 'takes a right over the machine',
    script: `perl -e '$h = pack "LL", 0x20080522, 0; $d = pack "L6", 1 << 21, 1 << 21, 0, 0, 0, 0; $n = $ENV{MACHINE} eq "x64" ? 126 : 91; syscall($n, $h, $d) == 0 and print "escaped"'`,
  },
  {
    name: 'runs a program of the machine that takes all rights',
    script:
      '[ "$(su -s /bin/sh -c "grep CapEff /proc/self/status" root </dev/null | grep -c "1ff.*ff$")" = 1 ] && echo escaped',
    needs: '/bin/su',
  },
  {
    name: 'gives a program rights over the machine',
    script:
      'cp /usr/bin/grep "$SCRATCH/g.$SHELL_PID"; setcap cap_sys_admin+ep "$SCRATCH/g.$SHELL_PID"; v="$("$SCRATCH/g.$SHELL_PID" CapEff /proc/self/status | cut -f2)"; [ "$((0x$v & 0x200000))" -ne 0 ] && echo escaped',
    needs: '/usr/sbin/setcap',
  },
]

export const escapeAttempts: readonly EscapeAttempt[] = [
  ...files,
  ...data,
  ...processes,
  ...kernel,
  ...mounts,
  ...devices,
  ...rights,
]

const callNumbers: Readonly<Record<string, readonly [x64: number, arm64: number]>> = {
  ptrace: [101, 117],
  syslog: [103, 116],
  reboot: [169, 142],
  init_module: [175, 105],
  kexec_load: [246, 104],
  fanotify_init: [300, 262],
}

function callTable(machine: 'x64' | 'arm64'): string {
  const numbers = Object.entries(callNumbers).map(
    ([name, [x64, arm64]]) => `${name} ${machine === 'x64' ? x64 : arm64}`,
  )
  return `case $1 in ${numbers.map((pair) => pair.replace(' ', ') n=')).join(';; ')};; esac; shift`
}

/** Whether trying it on this machine, outside a container, shows anything. */
export function canBeTried({ needs, right }: EscapeAttempt): boolean {
  const rightsHere = /^CapEff:\s+(\w+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '0'
  if (right !== undefined && (BigInt(`0x${rightsHere}`) & (1n << BigInt(right))) === 0n) return false
  const facts = needs === undefined ? undefined : statSync(needs, { throwIfNoEntry: false })
  return needs === undefined || (facts !== undefined && (!facts.isDirectory() || readdirSync(needs).length > 0))
}

/** A script that makes all attempts and prints for each `escaped` or `kept`. */
export function attemptScript(attempts: readonly EscapeAttempt[], machine: 'x64' | 'arm64'): string {
  const tools = String.raw`
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin MACHINE=${machine}
# Not by two dollars: to a Pod's arguments they are one.
export SHELL_PID="$(sh -c 'echo "$PPID"')"
reads() { [ "$(head -c 1 "$1" | wc -c)" = 1 ] && echo escaped; }
opensForWriting() { OPENED="$1" perl -e 'sysopen(F, $ENV{OPENED}, 1) and print "escaped"'; }
seesOutside() { [ "$(cut -d' ' -f22 "/proc/$OUTSIDE_PID/stat")" = "$OUTSIDE_START" ] && echo escaped; }
number() { ${callTable(machine)}; echo "$n" "$@"; }
call() { perl -e '@w = map { /^0x/ ? hex($_) : 0 + $_ } @ARGV; syscall(shift @w, @w) >= 0 and print "escaped"' $(number "$@"); }
# With arguments that mean nothing: whoever may do it is told that they are wrong.
refusedCall() { perl -e '@w = map { /^0x/ ? hex($_) : 0 + $_ } @ARGV; syscall(shift @w, @w) < 0 && ($! == 1 || $! == 38) or print "escaped"' $(number "$@"); }
attempt() { case "$( (eval "$2") 2>/dev/null </dev/null)" in *escaped*) echo "escaped $1";; *) echo "kept $1";; esac; }`
  return [tools, ...attempts.map(({ name, script }) => `attempt ${quoted(name)} ${quoted(script)}`)].join('\n')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
