# Makes a container out of a process, and runs its program in it, or runs a program beside that one.
#
#     perl -w container-entry.pl contain ARCH OWNER NETWORK ID-MAP PID (told on its input what to do)
#     perl -w container-entry.pl enter   ARCH OWNER                    (told on descriptor 3)
#
# What it is told are messages: a length of four bytes, then steps; each step is again a length and words, each of them with its
# length. `entry-steps.ts` writes them. A message that did not come whole is not acted on: whoever sent it is gone.
#
# It speaks to the kernel by itself because there is no program that does all of it, and because what a path means can then be
# decided by the kernel, inside the container's own root and without following links that lead out of it. No module is loaded but
# `strict`, which every Perl has.
use strict;

# A program in the container may lead to this very file of the machine, as what its process ran before (`/proc/self/exe`), and root
# there would own it. So it is run from a mount of its own on which nothing can be changed; and of what whoever started this had
# open, nothing goes on. Before the rest is compiled: that is done once.
BEGIN {
  if ($ARGV[-1] ne 'sealed') {
    my ($program, $nothing, $onlyRead) = ($^X, '', pack('QQQQ', 1, 0, 1 << 18, 0));
    my $here = syscall(428, -100, $program, 1 | 0x80000);
    if ($here >= 0) {
      my $done = syscall(442, $here, $nothing, 0x1000, $onlyRead, 32);
      die "$program cannot be kept from being changed: $!\n" if $done < 0;
      $program = "/proc/self/fd/$here";
    } elsif ($> == 0) {
      # To other users this file of root's is closed anyway.
      die "$program cannot be kept from being changed: $!\n";
    }
    # At the exec below; where it is told what to do by descriptor 3, that one goes on.
    my $first = $ARGV[0] eq 'enter' ? 4 : 3;
    syscall(436, $first, 0xffffffff, 4) == 0 or die "what is open cannot be closed: $!\n";
    exec { $program } $^X, '-w', $0, @ARGV, 'sealed' or die "$program: $!\n";
  }
}

my ($mode, $arch, undef, $network, $idMap, $target) = @ARGV;
my %calls = (
  x64 => {
    mkdirat => 258, symlinkat => 266, mount => 165, umount2 => 166, pivot_root => 155, sethostname => 170, prctl => 157,
    capset => 126, setgroups => 116, setresuid => 117, setresgid => 119, unshare => 272, setns => 308, seccomp => 317,
    prlimit64 => 302, fchdir => 81, setsid => 112, close => 3, keyctl => 250, sendmsg => 46, recvmsg => 47,
  },
  arm64 => {
    mkdirat => 34, symlinkat => 36, mount => 40, umount2 => 39, pivot_root => 41, sethostname => 161, prctl => 167,
    capset => 91, setgroups => 159, setresuid => 147, setresgid => 149, unshare => 97, setns => 268, seccomp => 277,
    prlimit64 => 261, fchdir => 50, setsid => 157, close => 57, keyctl => 219, sendmsg => 211, recvmsg => 212,
  },
);
# These have the same number everywhere.
my %newCalls = (
  close_range => 436, pidfd_open => 434, open_tree => 428, move_mount => 429, fsopen => 430, fsconfig => 431, fsmount => 432, openat2 => 437, mount_setattr => 442,
);
my $callOf = $calls{$arch} or die "there is no table of system calls for $arch\n";

my $O_PATH = 0x200000;
my $O_CLOEXEC = 0x80000;
my $O_DIRECTORY = $arch eq 'arm64' ? 0x4000 : 0x10000;
my $O_NOFOLLOW = $arch eq 'arm64' ? 0x8000 : 0x20000;
my $AT_FDCWD = -100;
my $AT_EMPTY_PATH = 0x1000;
my $AT_RECURSIVE = 0x8000;
my %resolve = (magic => 2, links => 4, beneath => 8, inRoot => 16);
my %attribute = ('ro' => 1, 'nosuid' => 2, 'nodev' => 4, 'noexec' => 8);
my %namespace = (mnt => 0x20000, cgroup => 0x2000000, uts => 0x4000000, ipc => 0x8000000, user => 0x10000000, pid => 0x20000000);
my ($ENOENT, $EINTR, $EAGAIN, $EEXIST, $ENOSYS) = (2, 4, 11, 17, 38);

# What is still taken of what is said once a program has ended: others may have what it wrote to, and go on.
my $mostLeft = 1 << 20;

# All that can be caught and ends a process; those that tell of a fault of the process itself are not sent to others.
my @groupSignals = qw(HUP INT QUIT USR1 USR2 PIPE ALRM TERM VTALRM PROF);

# What steps leave for those after them.
my ($root, $directory, %file, @words, @drops, @bound);
my ($columns, $rows);
# What the first process asks of the one outside of its namespaces, and what that one reads of what the program says.
my ($helper, $saying);

sub call {
  my ($name, @arguments) = @_;
  my $result = syscall($callOf->{$name} // $newCalls{$name}, @arguments);
  return $result < 0 ? undef : $result;
}

sub must {
  my ($what, $result) = @_;
  die "$what: $!\n" if !defined $result;
  return $result;
}

sub openAt {
  my ($folder, $path, $flags, $how, $mode) = @_;
  for my $try (1 .. 16) {
    my $opened = call('openat2', $folder, $path, pack('QQQ', $flags | $O_CLOEXEC, $mode // 0, $how), 24);
    # Somebody else renamed something meanwhile: the kernel cannot tell whether the path has left the root.
    return $opened if defined $opened || $! != $EAGAIN;
  }
  return undef;
}

sub closed { call('close', 0 + $_) for @_ }

# Where a path of the container is in its root; what is missing is made.
sub place {
  my ($path, $isFolder, $mode) = @_;
  my $found = openAt($root, $path, $O_PATH, $resolve{inRoot});
  return $found if defined $found;
  die "$path: $!\n" if $! != $ENOENT;
  my ($parentPath, $name) = $path =~ m{^(.*)/+([^/]+)/*$} or die "$path cannot be a place in the container\n";
  my $parent = $parentPath eq '' ? openAt($root, '/', $O_PATH, $resolve{inRoot}) : place($parentPath, 1, 0755);
  if ($isFolder) {
    defined call('mkdirat', $parent, $name, 0 + ($mode // 0755)) or $! == $EEXIST or die "$path cannot be made: $!\n";
  } else {
    my $made = openAt($parent, $name, 0101 | $O_NOFOLLOW, $resolve{beneath}, $mode // 0644);
    closed($made) if defined $made;
  }
  closed($parent);
  return must("$path goes through a link that leads nowhere, or cannot be made", openAt($root, $path, $O_PATH, $resolve{inRoot}));
}

sub withAttributes {
  my ($mount, $recursive, @names) = @_;
  my $set = 0;
  $set |= $attribute{$_} for grep { exists $attribute{$_} } @names;
  # And nothing that is mounted on one side later is seen on the other.
  my $change = pack('QQQQ', $set, 0, 1 << 18, 0);
  return call('mount_setattr', $mount, '', $AT_EMPTY_PATH | ($recursive ? $AT_RECURSIVE : 0), $change, 32);
}

sub putAt {
  my ($mount, $target, $what) = @_;
  must($what, call('move_mount', $mount, '', $target, '', 0x4 | 0x40));
  closed($mount, $target);
}

sub bindTo {
  my ($source, $target, $what, @options) = @_;
  my $tree = must($what, call('open_tree', $source, '', 1 | $O_CLOEXEC | $AT_EMPTY_PATH | $AT_RECURSIVE));
  must($what, withAttributes($tree, 1, @options));
  closed($source);
  putAt($tree, $target, $what);
}

sub newMount {
  my ($type, $flags, @settings) = @_;
  my $context = call('fsopen', $type, 1);
  return undef if !defined $context;
  for my $setting (@settings) {
    my ($key, $value) = split /=/, $setting, 2;
    my $done = defined $value ? call('fsconfig', $context, 1, $key, $value, 0) : call('fsconfig', $context, 0, $key, 0, 0);
    return undef if !defined $done;
  }
  return undef if !defined call('fsconfig', $context, 6, 0, 0, 0);
  my $set = 0;
  $set |= $attribute{$_} for split /,/, $flags;
  my $mount = call('fsmount', $context, 1, $set);
  closed($context);
  return $mount;
}

sub writeTo {
  my ($path, $text) = @_;
  open(my $handle, '>', $path) or die "$path: $!\n";
  defined syswrite($handle, $text) or die "$path: $!\n";
  close $handle;
}

my %step = (
  # Opened under a name before the container's own mounts may lie above them.
  open => sub {
    my ($name, $how, $path) = @_;
    open($file{$name}, $how, $path) or die "$path: $!\n";
  },
  # Without a path: what this process itself writes to.
  share => sub {
    my ($name) = @_;
    open($file{$name}, '>&', \*STDOUT) or die "the output: $!\n";
  },
  # What the program says goes through a pipe, from which the process outside adds it to a file: whatever the program does to what
  # it writes to, what it has said stays. By that process, which is there until everything here has ended. It also keeps the input
  # from ending, where that is to end when it is told so.
  collect => sub {
    my ($output, $control, $input) = @_;
    my %handed;
    open($handed{o}, '>>', $output) or die "$output: $!\n";
    # For both directions: they neither block here nor end.
    $control eq '' or open($handed{c}, '+<', $control) or die "$control: $!\n";
    $input eq '' or open($handed{i}, '+<', $input) or die "$input: $!\n";
    handOver($helper, \%handed);
    $file{output} = $saying;
  },
  'user-map' => sub {
    my ($uid, $gid, $outerUid, $outerGid) = @_;
    writeTo('/proc/self/setgroups', 'deny');
    writeTo('/proc/self/uid_map', "$uid $outerUid 1\n");
    writeTo('/proc/self/gid_map', "$gid $outerGid 1\n");
  },
  group => sub {
    my ($path) = @_;
    writeTo($path, "0\n");
  },
  'group-namespace' => sub { must('a cgroup namespace', call('unshare', $namespace{cgroup})) },
  hostname => sub {
    my ($name) = @_;
    must('the hostname', call('sethostname', $name, length $name));
  },
  sysctl => sub {
    my ($name, $value) = @_;
    writeTo("/proc/sys/$name", "$value\n");
  },
  limit => sub {
    my ($resource, $soft, $hard) = @_;
    must("the limit $resource", call('prlimit64', 0, 0 + $resource, pack('QQ', $soft, $hard), 0));
  },
  # The folder that becomes the container's root.
  'folder-root' => sub {
    my ($path, @options) = @_;
    my $source = must($path, openAt($AT_FDCWD, $path, $O_PATH | $O_DIRECTORY, $resolve{links}));
    my $target = must($path, openAt($AT_FDCWD, $path, $O_PATH | $O_DIRECTORY, $resolve{links}));
    bindTo($source, $target, $path, @options);
    $root = must($path, openAt($AT_FDCWD, $path, $O_PATH | $O_DIRECTORY, $resolve{links}));
  },
  # Files that are only read, below those that the container writes.
  'layered-root' => sub {
    my ($path, $flags, @settings) = @_;
    my $mount = must("the container's root", newMount('overlay', $flags, @settings));
    putAt($mount, must($path, openAt($AT_FDCWD, $path, $O_PATH | $O_DIRECTORY, $resolve{links})), $path);
    $root = must($path, openAt($AT_FDCWD, $path, $O_PATH | $O_DIRECTORY, $resolve{links}));
  },
  folder => sub {
    my ($path, $mode) = @_;
    my $before = umask 0;
    closed(place($path, 1, oct $mode));
    umask $before;
  },
  link => sub {
    my ($path, $target) = @_;
    my ($parent, $name) = $path =~ m{^(.*)/([^/]+)$};
    my $folder = $parent eq '' ? openAt($root, '/', $O_PATH, $resolve{inRoot}) : place($parent, 1, 0755);
    defined call('symlinkat', $target, $folder, $name) or $! == $EEXIST or die "$path: $!\n";
    closed($folder);
  },
  bind => sub {
    my ($from, $inside, $path, @options) = @_;
    my $source = must($from, openAt($AT_FDCWD, $from, $O_PATH, $resolve{links}));
    if ($inside ne '') {
      my $part = must("$path changed while it was mounted", openAt($source, $inside, $O_PATH, $resolve{beneath} | $resolve{links} | $resolve{magic}));
      closed($source);
      $source = $part;
    }
    my $isFolder = -d "/proc/self/fd/$source/.";
    my $target = place($path, $isFolder);
    bindTo($source, $target, $path, @options);
    push @bound, $path;
  },
  mount => sub {
    my ($type, $path, $flags, @settings) = @_;
    my $mount = must("$path ($type)", newMount($type, $flags, @settings));
    putAt($mount, place($path, 1), $path);
  },
  # What the machine says about its devices: with the container's own network where that is permitted.
  'system-files' => sub {
    my ($path) = @_;
    my $mount = newMount('sysfs', 'ro,nosuid,nodev,noexec');
    return putAt($mount, place($path, 1), $path) if defined $mount;
    my $source = must('/sys', openAt($AT_FDCWD, '/sys', $O_PATH, $resolve{links}));
    bindTo($source, place($path, 1), $path, 'ro', 'nosuid', 'nodev', 'noexec');
  },
  # Nothing can be read there any more, where there is something.
  cover => sub {
    my ($path) = @_;
    my $target = openAt($root, $path, $O_PATH, $resolve{inRoot});
    return if !defined $target;
    if (-d "/proc/self/fd/$target/.") {
      putAt(must("$path", newMount('tmpfs', 'ro,nosuid,nodev,noexec', 'mode=0555', 'size=0')), $target, $path);
    } else {
      bindTo(must('/dev/null', openAt($AT_FDCWD, '/dev/null', $O_PATH, $resolve{links})), $target, $path, 'ro', 'nosuid', 'noexec');
    }
  },
  'only-read' => sub {
    my ($path) = @_;
    my $source = openAt($root, $path, $O_PATH, $resolve{inRoot});
    return if !defined $source;
    bindTo($source, must($path, openAt($root, $path, $O_PATH, $resolve{inRoot})), $path, 'ro', 'nosuid', 'nodev', 'noexec');
  },
  # With the layers in it, but not what is mounted there besides.
  'root-only-read' => sub {
    must("the container's root", withAttributes($root, 0, 'ro'));
    for my $path (@_) {
      my $layer = must($path, openAt($root, $path, $O_PATH, $resolve{inRoot}));
      must($path, withAttributes($layer, 0, 'ro'));
      closed($layer);
    }
  },
  # From here on there is nothing but the container's root.
  pivot => sub {
    must("the container's root", call('fchdir', $root));
    must("the container's root", call('pivot_root', '.', '.'));
    must("the container's root", call('umount2', '.', 2));
    closed($root);
  },
  say => sub { syswrite(STDERR, "$_[0]\n") },
  directory => sub { ($directory) = @_ },
  variables => sub { %ENV = @_ },
  # Rights are taken by the process that becomes the program, and one after the other as given.
  identity => sub { push @drops, ['identity', @_] },
  bounding => sub { push @drops, ['bounding', @_] },
  capabilities => sub { push @drops, ['capabilities', @_] },
  'no-new-privileges' => sub { push @drops, ['no-new-privileges'] },
  filter => sub { push @drops, ['filter', @_] },
  terminal => sub { ($columns, $rows) = @_ },
  program => sub { @words = @_ },
  enter => sub {
    my ($pid, @kinds) = @_;
    my @opened = map {
      my $path = "/proc/$pid/ns/$_";
      [$_, must($path, openAt($AT_FDCWD, $path, 0, 0))];
    } @kinds;
    for (@opened) {
      must("the namespace $_->[0]", call('setns', $_->[1], 0));
      closed($_->[1]);
    }
  },
);

my %drop = (
  identity => sub {
    my ($uid, $gid, $setGroups, @groups) = @_;
    if ($setGroups) {
      must('the groups', call('setgroups', scalar @groups, @groups ? pack('L*', @groups) : 0));
    }
    # A program may open what it writes to and reads from once more, by the name of /dev/stdout. Never what is the machine's.
    for my $stream (grep { defined && (-f $_ || -p $_) } @file{qw(input output)}) {
      chown $uid, -1, $stream;
    }
    must("the group $gid", call('setresgid', 0 + $gid, 0 + $gid, 0 + $gid));
    must("the user $uid", call('setresuid', 0 + $uid, 0 + $uid, 0 + $uid));
  },
  # What can never be had again, whatever is run.
  bounding => sub {
    for my $number (@_) {
      must("the capability $number", call('prctl', 24, 0 + $number, 0, 0, 0));
    }
  },
  # By two words of 32 bits each: effective and permitted are the same, and nothing is handed down by being inheritable.
  capabilities => sub {
    my ($low, $high) = @_;
    must('the capabilities', call('prctl', 47, 4, 0, 0, 0));
    must('the capabilities', call('capset', pack('LL', 0x20080522, 0), pack('L6', $low, $low, 0, $high, $high, 0)));
  },
  'no-new-privileges' => sub { must('no_new_privs', call('prctl', 38, 1, 0, 0, 0)) },
  filter => sub {
    my ($code) = @_;
    my $program = pack('S x6 P', length($code) / 8, $code);
    must('the filter of system calls', call('seccomp', 1, 0, $program));
  },
);

# The next message, as steps; undef where there is no whole one.
sub message {
  my ($from) = @_;
  my $head = bytes($from, 4) // return undef;
  my $body = bytes($from, unpack('N', $head)) // return undef;
  return [map { [unpack '(N/a*)*', $_] } unpack '(N/a*)*', $body];
}

sub bytes {
  my ($from, $count) = @_;
  my $read = '';
  while (length $read < $count) {
    my $got = sysread($from, $read, $count - length $read, length $read);
    next if !defined $got && $! == $EINTR;
    return undef if !$got;
  }
  return $read;
}

sub follow {
  my ($steps) = @_;
  for (@$steps) {
    my ($name, @arguments) = @$_;
    my $do = $step{$name} or die "there is no step $name\n";
    $do->(@arguments);
  }
}

# As execvp(3) would find it, so that what is missing can be said before anything is said to have started.
sub found {
  my ($word) = @_;
  my $isProgram = sub { -f $_[0] && -x _ };
  return $isProgram->($word) ? $word : undef if $word =~ m{/};
  for my $folder (split /:/, $ENV{PATH} // '') {
    my $path = ($folder eq '' ? '.' : $folder) . "/$word";
    return $path if $isProgram->($path);
  }
  return undef;
}

# A volume may cover a program of the machine, such as Sluice itself where its folder is below /tmp.
sub whatHides {
  my ($program) = @_;
  my ($place) = grep { index($program, "$_/") == 0 } reverse @bound;
  return defined $place ? " in what is mounted at $place" : '';
}

sub becomeReady {
  # Not through `/proc/self/fd` and the like: those would be this process's.
  my $folder = openAt($AT_FDCWD, $directory, $O_PATH | $O_DIRECTORY, $resolve{magic}) // die "workingDir \"$directory\": $!\n";
  must("workingDir \"$directory\"", call('fchdir', $folder));
  closed($folder);
  umask 022;
  $SIG{FPE} = 'DEFAULT';
  # The keys of whoever started Sluice are not for what runs here. Ordinary users may have few keyrings, and containers many.
  defined call('keyctl', 1, 0, 0, 0, 0) or $! == $ENOSYS or $> != 0 or die "a keyring: $!\n";
  for (@drops) {
    my ($name, @arguments) = @$_;
    $drop{$name}->(@arguments);
  }
  return found($words[0]) // die "cannot run \"$words[0]\": there is no such program" . whatHides($words[0]) . "\n";
}

sub codeOf {
  my ($status) = @_;
  return $status & 127 ? 128 + ($status & 127) : $status >> 8;
}

sub fail {
  my ($message) = @_;
  print STDERR $message;
  exit 125;
}

sub waitFor {
  my ($child) = @_;
  for (;;) {
    my $ended = waitpid(-1, 0);
    return codeOf($?) if $ended == $child;
    return 255 if $ended < 0 && $! != $EINTR;
  }
}

# The first process of the container's namespaces: it makes them what they are to be, has the program run, and stays to tell how it
# ended, also when nobody is there to be told. It reaps what the program leaves behind; when it ends, the kernel ends the rest.
sub beFirst {
  # What the program sends to its own group is not for the process outside, which has yet to take what was said.
  setpgrp(0, 0);
  # What it was started with tells where the machine has what: not the container's to read.
  $0 = 'container';
  call('prctl', 1, 9, 0, 0, 0);
  # What is the same for all containers may have been sent long before the rest.
  while (!@words) {
    my $steps = message(\*STDIN) // exit 0;
    eval { follow($steps); 1 } or fail($@);
  }
  # Nothing of this process is for those it runs: neither its memory nor what it has open.
  call('prctl', 4, 0, 0, 0, 0);
  my ($master, $terminal) = defined $columns ? newTerminal() : ();
  my $child = fork // fail("no process can be made: $!\n");
  if ($child == 0) {
    takeTerminal($master, $terminal) if defined $terminal;
    runProgram();
    exit 125;
  }
  # The first process of its namespace gets only what it handles; any other would end by what is meant for the program.
  if ($target ne '') {
    $SIG{$_} = 'IGNORE' for @groupSignals;
  }
  # Who has a terminal is in a group of its own, and is not asked to end when this one is.
  $SIG{TERM} = sub { kill 'TERM', $child } if defined $terminal;
  relayTerminal($master, $child) if defined $terminal;
  # Whoever waits for the end of what is said must not wait for this process.
  close $_ for grep { defined && defined fileno $_ } @file{qw(control input output)}, $saying;
  my $code = waitFor($child);
  syswrite($file{exit}, "$code\n");
  exit $code;
}

# Becomes the leader of what happens in the terminal, and has it in place of what others read and write.
sub takeTerminal {
  my ($master, $name) = @_;
  call('setsid');
  open(my $terminal, '+<', $name) or fail("$name: $!\n");
  ioctl($terminal, 0x540E, 0);
  close $master;
  my ($identity) = grep { $_->[0] eq 'identity' } @drops;
  chown $identity->[1], -1, $name if $identity;
  close $_ for grep { defined } @file{qw(control input output)};
  @file{qw(input output)} = ($terminal, $terminal);
}

# Until the program has ended; what others left in the terminal by then is still taken.
sub relayTerminal {
  my ($master, $child) = @_;
  my $ended = call('pidfd_open', $child, 0) // fail("no process can be waited for: $!\n");
  # What cannot be kept costs what was said, never the program.
  my $say = sub { wholly($file{output}, $_[0]); 1 };
  relay({ screen => $master, told => $file{control}, ended => $ended, say => $say, ($file{input} ? (input => $file{input}) : ()) });
}

sub runProgram {
  my $path = eval { becomeReady() } // fail($@);
  syswrite($file{exit}, "started\n");
  # Said by the process that becomes the program: a signal that is sent from now on is not lost on its parent. Where nobody listens
  # any more nobody knows of the program, and it is taken back.
  $SIG{PIPE} = 'IGNORE';
  if (!syswrite(STDERR, "ready\n")) {
    syswrite($file{exit}, "unstarted\n");
    return;
  }
  $SIG{PIPE} = 'DEFAULT';
  open(STDIN, '<&', $file{input});
  open(STDOUT, '>&', $file{output});
  open(STDERR, '>&', $file{output});
  exec { $path } @words or print STDERR "cannot run \"$words[0]\": $!\n";
}

sub contain {
  if ($network ne '') {
    my $namespace = openAt($AT_FDCWD, $network, 0, 0) // fail("$network: $!\n");
    defined call('setns', $namespace, 0x40000000) or fail("the network $network: $!\n");
    closed($namespace);
  }
  my $kinds = $namespace{mnt} | $namespace{uts} | $namespace{ipc};
  if ($target ne '') {
    # Among the processes of another container, which sees those of this one, too.
    my $processes = openAt($AT_FDCWD, "/proc/$target/ns/pid_for_children", 0, 0) // fail("the processes of $target: $!\n");
    defined call('setns', $processes, $namespace{pid}) or fail("the processes of $target: $!\n");
    closed($processes);
    # What others may learn of this process and those it forks, they do not.
    call('prctl', 4, 0, 0, 0, 0);
  } else {
    $kinds |= $namespace{pid};
  }
  $kinds |= $namespace{user} if $idMap;
  defined call('unshare', $kinds) or fail("namespaces: $!\n");
  # What is mounted on the machine from now on is seen here, nothing that is mounted here there.
  defined call('mount', 'none', '/', 0, 0x80000 | 0x4000, 0) or fail("a mount namespace: $!\n");
  pipe(my $said, $saying) or fail("a pipe: $!\n");
  socketpair(my $asked, $helper, 1, 1, 0) or fail("a pair of sockets: $!\n");
  # Signals are for the program and what it has in its group; this process waits, and collects what is said. It is ready for them
  # before there is another one: on a busy machine the program may run, and be told to end, before this one has its next turn.
  my ($group, @early);
  $SIG{$_} = sub { $group ? kill $_[0], -$group : push @early, $_[0] } for @groupSignals;
  my $first = fork // fail("no process can be made: $!\n");
  if ($first == 0) {
    $SIG{$_} = 'DEFAULT' for @groupSignals;
    close $_ for $said, $asked;
    beFirst();
  }
  # Also here: a signal may come before the other one has its group.
  setpgrp($first, $first);
  $group = $first;
  kill $_, -$group for splice @early;
  close $_ for \*STDIN, $saying, $helper;
  collectFor($first, $said, $asked);
  exit waitFor($first);
}

# Adds what is said to the file that it is handed, until all has ended.
sub collectFor {
  my ($first, $said, $asked) = @_;
  my $handed = handedOver($asked) // return;
  my $ended = call('pidfd_open', $first, 0) // fail("no process can be waited for: $!\n");
  collect($said, { ended => $ended, output => $handed->{o}, control => $handed->{c}, input => $handed->{i} });
}

# Open files, by a letter each. Whoever gets them need not be waited for.
sub handOver {
  my ($socket, $files) = @_;
  my @letters = sort keys %$files;
  my $letters = join '', @letters;
  my $rights = pack('Q l l l*', 16 + 4 * @letters, 1, 1, map { fileno $files->{$_} } @letters);
  $rights .= "\0" x (-length($rights) % 8);
  my $text = pack('P Q', $letters, length $letters);
  my $message = pack('Q Q P Q P Q Q', 0, 0, $text, 1, $rights, length $rights, 0);
  must('the output', call('sendmsg', fileno $socket, $message, 0));
}

# undef where there never come any.
sub handedOver {
  my ($socket) = @_;
  my ($letters, $rights) = ("\0" x 8, "\0" x 64);
  my $text = pack('P Q', $letters, length $letters);
  my $message = pack('Q Q P Q P Q Q', 0, 0, $text, 1, $rights, length $rights, 0);
  my $got;
  do { $got = call('recvmsg', fileno $socket, $message, 0x40000000) } while !defined $got && $! == $EINTR;
  return undef if !$got;
  my @letters = split //, substr($letters, 0, $got);
  my @numbers = unpack 'x16 l*', substr($rights, 0, unpack('Q', $rights));
  my %files;
  open($files{$letters[$_]}, $letters[$_] eq 'o' ? '>>&=' : '+<&=', $numbers[$_]) or fail("the output: $!\n") for 0 .. $#letters;
  return \%files;
}

sub collect {
  my ($said, $open) = @_;
  my ($output, $ended, $control) = (fileno $said, $open->{ended}, $open->{control});
  my $left = $mostLeft;
  while ($left > 0) {
    my $readable = '';
    vec($readable, $ended, 1) = 1;
    vec($readable, $output, 1) = 1 if defined $output;
    vec($readable, fileno $control, 1) = 1 if defined $control;
    next if select($readable, undef, undef, undef) < 0;
    if (defined $control && vec($readable, fileno $control, 1)) {
      my $steps = message($control);
      close $open->{input} if $open->{input} && grep { $_->[0] eq 'input-ends' } @{$steps // []};
    }
    if (defined $output && vec($readable, $output, 1)) {
      my $got = sysread($said, my $text, 65536);
      next if !defined $got && $! == $EINTR;
      # A full disk costs what is said, never the program.
      $got ? wholly($open->{output}, $text) : undef $output;
      $left -= $got // 0 if vec($readable, $ended, 1);
    } elsif (vec($readable, $ended, 1)) {
      return;
    }
  }
}

# Runs a program beside the one of a container: in its namespaces, with its rights.
sub enter {
  open(my $told, '<&=', 3) or fail("nothing to do: $!\n");
  my $steps = message($told) // exit 0;
  eval { follow($steps); 1 } or fail($@);
  # What is in the container already is to learn nothing from the process that becomes the program, nor to change it.
  call('prctl', 4, 0, 0, 0, 0);
  return inTerminal($told) if defined $columns;
  my $child = fork // fail("no process can be made: $!\n");
  if ($child == 0) {
    close $told;
    my $path = eval { becomeReady() } // do { print STDERR $@; exit 127 };
    exec { $path } @words or print STDERR "cannot run \"$words[0]\": $!\n";
    exit 126;
  }
  close STDIN;
  close STDOUT;
  exit waitFor($child);
}

sub newTerminal {
  open(my $master, '+<', '/dev/ptmx') or fail("no terminal can be made: $!\n");
  binmode $master;
  my ($locked, $number) = (pack('L', 0), pack('L', 0));
  ioctl($master, 0x40045431, $locked) or fail("no terminal can be made: $!\n");
  ioctl($master, 0x80045430, $number) or fail("no terminal can be made: $!\n");
  resize($master, $columns, $rows);
  return ($master, '/dev/pts/' . unpack('L', $number));
}

sub inTerminal {
  my ($told) = @_;
  my ($master, $name) = newTerminal();
  my $child = fork // fail("no process can be made: $!\n");
  if ($child == 0) {
    close $told;
    takeTerminal($master, $name);
    open(STDIN, '<&', $file{input});
    open(STDOUT, '>&', $file{output});
    open(STDERR, '>&', $file{output});
    my $path = eval { becomeReady() } // do { print STDERR $@; exit 127 };
    exec { $path } @words or print STDERR "cannot run \"$words[0]\": $!\n";
    exit 126;
  }
  # The end of what a client sends is what its user would type for it.
  relay({ screen => $master, told => $told, input => \*STDIN, endOfInput => "\x04", say => sub { wholly(\*STDOUT, $_[0]) } });
  exit waitFor($child);
}

sub resize {
  my ($master, $width, $height) = @_;
  my $size = pack('SSSS', $height, $width, 0, 0);
  ioctl($master, 0x5414, $size);
}

# Until the program's side of the terminal is closed, or the program has ended. Keys are not taken faster than the program reads
# them, and what it says goes on meanwhile: it may be what keeps it from reading.
sub relay {
  my ($with) = @_;
  my ($master, $told, $source, $ended) = @{$with}{qw(screen told input ended)};
  my $screen = fileno $master;
  my ($keys, $left) = ('', $mostLeft);
  fcntl($master, 4, 04002);
  while ($left > 0) {
    my ($readable, $writable) = ('', '');
    vec($readable, $screen, 1) = 1;
    vec($readable, fileno $told, 1) = 1 if defined $told;
    vec($readable, fileno $source, 1) = 1 if defined $source && $keys eq '';
    vec($readable, $ended, 1) = 1 if defined $ended;
    vec($writable, $screen, 1) = 1 if $keys ne '';
    next if select($readable, $writable, undef, undef) < 0;
    if (vec($readable, $screen, 1)) {
      my $got = sysread($master, my $text, 65536);
      next if !defined $got && ($! == $EINTR || $! == $EAGAIN);
      return if !$got || !$with->{say}->($text);
      $left -= $got if defined $ended && vec($readable, $ended, 1);
    } elsif (defined $ended && vec($readable, $ended, 1)) {
      return;
    }
    if (defined $told && vec($readable, fileno $told, 1)) {
      my $steps = message($told);
      undef $told if !$steps;
      $_->[0] eq 'size' && resize($master, @{$_}[1, 2]) for @{$steps // []};
    }
    if (defined $source && vec($readable, fileno $source, 1)) {
      if (!sysread($source, $keys, 65536)) {
        $keys = $with->{endOfInput} // '';
        undef $source;
      }
    }
    if (vec($writable, $screen, 1)) {
      my $written = syswrite($master, $keys) // 0;
      substr($keys, 0, $written) = '';
    }
  }
}

sub wholly {
  my ($to, $text) = @_;
  while (length $text) {
    my $written = syswrite($to, $text);
    next if !defined $written && $! == $EINTR;
    return 0 if !defined $written;
    substr($text, 0, $written) = '';
  }
  return 1;
}

# Whatever else was open when this program was started is not for what it runs.
call('close_range', 3, 0xffffffff, 4);
$mode eq 'enter' ? enter() : contain();
