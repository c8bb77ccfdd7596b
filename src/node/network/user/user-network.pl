# Runs a program in a network that its user may change, without being root: in namespaces of users, mounts and network.
#
#     perl -w user-network.pl ARCH FOLDER PASTA LISTEN PROGRAM WORDS…
#
# LISTEN is `NAME=HOST/PORT/COUNT,…`: sockets that listen in the machine's own network, since nobody outside reaches the other. The
# program finds their descriptors, or why there is no such network, in SLUICE_USER_NETWORK (JSON), and has the same process id.
#
# The namespaces must outlive the program, because Pods do: a process that only waits holds them, and a keeper outside of them has
# that one and `pasta`, by which the network reaches what the machine reaches, as its children. FOLDER/keeper says who they are; the
# next program enters the same namespaces. The keeper ends on SIGTERM, and when FOLDER/keeper no longer names it. Ports of the machine
# that lead to Pods are its matter, too (keep-ports.pl); SIGHUP tells it to look which are wanted.
use strict;
use File::Basename qw(dirname);
use Socket qw(getaddrinfo AI_PASSIVE SOCK_STREAM SOL_SOCKET SO_REUSEADDR);

require(dirname(__FILE__) . '/keep-ports.pl');

my ($arch, $folder, $pasta, $listen, @program) = @ARGV;
my %calls = (
  x64 => { mount => 165, capset => 126, prctl => 157, unshare => 272, setns => 308, setsid => 112 },
  arm64 => { mount => 40, capset => 91, prctl => 167, unshare => 97, setns => 268, setsid => 157 },
);
my $callOf = $calls{$arch} or die "there is no table of system calls for $arch\n";
my %namespace = (mnt => 0x20000, user => 0x10000000, net => 0x40000000);
my ($MS_BIND, $MS_REC, $MS_SLAVE) = (0x1000, 0x4000, 0x80000);

# What the program may do in its own network and mounts: bind any port, change the network, raw sockets, chroot, mount.
my @capabilities = (10, 12, 13, 18, 21);

# Under this address, which is nobody's, resolvers at the machine's loopback are reached.
my $resolver = '169.254.83.76';

my $record = "$folder/keeper";
my $complaints = "$folder/pasta.log";
my $ready = "$folder/pasta.pid";
my $attemptSeconds = 10;
my $unusedSeconds = 30;
my ($shortestPause, $longestPause) = (0.2, 30);

sub call {
  my ($name, @arguments) = @_;
  my $result = syscall($callOf->{$name}, @arguments);
  return $result == -1 ? undef : $result;
}

sub must {
  my ($what, $done) = @_;
  die "$what: $!\n" if !defined $done;
  return $done;
}

sub mountAt {
  my ($what, $place, $type, $flags, $settings) = @_;
  return call('mount', $what, $place, $type, $flags, $settings // '');
}

sub contentOf {
  my ($path) = @_;
  open(my $file, '<', $path) or return undef;
  local $/;
  return scalar <$file>;
}

sub writeFile {
  my ($path, $text) = @_;
  open(my $file, '>', $path) or die "$path: $!\n";
  syswrite($file, $text) // die "$path: $!\n";
  close $file;
}

# When the process began, in ticks since the machine did: with its number it is one process for ever.
sub beginningOf {
  my ($pid) = @_;
  my $said = contentOf("/proc/$pid/stat") // return undef;
  return (split / /, $said =~ s/^.*\) //sr)[19];
}

# [number, beginning, number, beginning] of the keeper and of the process that holds the namespaces; undef where they are gone.
sub recorded {
  my $said = contentOf($record) // return undef;
  my ($keeper, $keeperBegan, $holder, $holderBegan) = split /\s+/, $said;
  return undef if !defined $holderBegan;
  return undef if (beginningOf($keeper) // '') ne $keeperBegan || (beginningOf($holder) // '') ne $holderBegan;
  return { keeper => $keeper, holder => $holder };
}

# --- what holds the namespaces

sub hold {
  my ($say, $uid, $gid) = @_;
  must('namespaces', call('unshare', $namespace{user} | $namespace{mnt} | $namespace{net}));
  writeFile('/proc/self/setgroups', 'deny');
  writeFile('/proc/self/uid_map', "$uid $uid 1");
  writeFile('/proc/self/gid_map', "$gid $gid 1");
  must('mounts', mountAt('none', '/', 'none', $MS_REC | $MS_SLAVE));
  placeForNamespaces();
  reachResolvers();
  # What whoever may change the network writes here concerns this network only.
  writeFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', '0');
  syswrite($say, "made\n");
  close $say;
  $SIG{TERM} = 'DEFAULT';
  sleep 3600 while 1;
}

# `ip netns` keeps namespaces in /run/netns, where only root may make anything.
sub placeForNamespaces {
  remakeRun() if !-d '/run/netns';
  must('/run/netns', mountAt('tmpfs', '/run/netns', 'tmpfs', 0, 'mode=755,size=1m'));
}

# The same /run, with one folder more: whatever is there now is bound to a folder of our own.
sub remakeRun {
  my $new = "$folder/run";
  mkdir $new;
  must($new, mountAt('tmpfs', $new, 'tmpfs', 0, 'mode=755,size=4m'));
  opendir(my $there, '/run') or die "/run: $!\n";
  for my $name (grep { !/^\.\.?$/ } readdir $there) {
    my ($old, $place) = ("/run/$name", "$new/$name");
    if (-l $old) {
      symlink readlink($old), $place;
      next;
    }
    if (-d $old) {
      mkdir $place or die "$place: $!\n";
    } else {
      writeFile($place, '');
    }
    # What cannot be bound is missing, which nothing here needs.
    mountAt($old, $place, 'none', $MS_BIND | $MS_REC);
  }
  mkdir "$new/netns" or die "$new/netns: $!\n";
  must('/run', mountAt($new, '/run', 'none', $MS_BIND | $MS_REC));
}

# Resolvers that listen at the machine's loopback are not at that of this network: pasta asks them.
sub asksLoopback {
  return (contentOf('/etc/resolv.conf') // '') =~ /^\s*nameserver\s+(?:127\.|::1\b)/m;
}

sub reachResolvers {
  return if !asksLoopback();
  my $said = contentOf('/etc/resolv.conf');
  my @others = grep { !/^\s*nameserver\s/ } split /\n/, $said;
  writeFile("$folder/resolv.conf", join('', map { "$_\n" } @others, "nameserver $resolver"));
  must('/etc/resolv.conf', mountAt("$folder/resolv.conf", '/etc/resolv.conf', 'none', $MS_BIND));
}

# --- the keeper

# Makes the namespaces and what they need, says how that went, and looks after it from then on.
sub keep {
  my ($told) = @_;
  call('setsid');
  chdir '/';
  $0 = "sluice-network $folder";
  open(STDIN, '<', '/dev/null');
  open(STDOUT, '>', '/dev/null');
  open(STDERR, '>', '/dev/null');
  my ($holder, $way);
  my $ended = 0;
  $SIG{TERM} = sub { $ended = 1 };
  # So that they are noticed while this process waits.
  $SIG{$_} = sub { } for qw(CHLD HUP);
  $SIG{$_} = 'IGNORE' for qw(INT PIPE);
  my $made = eval {
    $holder = startHolder();
    $way = startWay($holder);
    openPorts($arch, $folder);
    writeFile("$record.new", join("\n", $$, beginningOf($$), $holder, beginningOf($holder)) . "\n");
    rename("$record.new", $record) or die "$record: $!\n";
    1;
  };
  syswrite($told, $made ? "made\n" : $@);
  close $told;
  $ended = 1 if !$made;
  my ($pause, $failedAt) = ($shortestPause, 0);
  my $lookAt = time + $unusedSeconds;
  until ($ended) {
    my ($ready, $seconds) = hearingPorts($way ? 5 : $pause);
    my $isHeard = select($ready, undef, undef, $seconds) > 0;
    hearPorts($ready) if $isHeard;
    while ((my $gone = waitpid(-1, 1)) > 0) {
      $ended = 1 if $gone == $holder;
      portEnded($gone);
      next if !$way || $gone != $way;
      # A way that held for a while is made anew at once, one that does not is waited for.
      $pause = time - $failedAt > 60 ? $shortestPause : $pause * 2 > $longestPause ? $longestPause : $pause * 2;
      ($way, $failedAt) = (undef, time);
    }
    my $now = recorded();
    $ended = 1 if !$now || $now->{keeper} != $$;
    lookAfterPorts($holder) if !$ended;
    next if time < $lookAt;
    $lookAt = time + $unusedSeconds;
    $ended = 1 if isUnused($holder);
  } continue {
    $way = eval { startWay($holder) } if !$ended && !$way;
  }
  kill 'KILL', portProcesses(), grep { defined } $holder, $way;
  my $now = contentOf($record);
  unlink $record, $ready if $made && defined $now && $now =~ /^$$\n/;
  exit 0;
}

# Nobody is in the network, as when a start failed, and there is none of a Pod.
sub isUnused {
  my ($holder) = @_;
  my $network = readlink("/proc/$holder/ns/net") // return 1;
  my @ofPods = glob "/proc/$holder/root/run/netns/*";
  return 0 if @ofPods;
  my %ours = map { ("/proc/$_" => 1) } $holder, portProcesses();
  for my $process (glob '/proc/[0-9]*') {
    next if $ours{$process};
    return 0 if (readlink("$process/ns/net") // '') eq $network;
  }
  return 1;
}

sub startHolder {
  my ($uid, $gid) = ($>, (split / /, $))[0]);
  pipe(my $hear, my $say) or die "a pipe: $!\n";
  my $holder = fork // die "no process can be made: $!\n";
  if ($holder == 0) {
    close $hear;
    eval { hold($say, $uid, $gid) };
    syswrite($say, $@);
    exit 1;
  }
  close $say;
  my $said = <$hear> // 'nothing was said';
  chomp $said;
  return $holder if $said eq 'made';
  waitpid($holder, 0);
  die "$said\n";
}

# By which the network reaches what the machine does. Nothing that listens there is reached from the machine, nor the other way.
sub startWay {
  my ($holder) = @_;
  unlink $ready;
  my $way = fork // die "no process can be made: $!\n";
  if ($way == 0) {
    open(STDERR, '>', $complaints);
    # Some versions take it for an error that a signal was not as usual.
    $SIG{$_} = 'DEFAULT' for qw(HUP INT PIPE TERM CHLD);
    my @closed = map { ($_, 'none') } qw(-t -u -T -U);
    # Only where it is needed: answers of the first resolver come from that address then, whoever was asked.
    my @names = asksLoopback() ? ('--dns-forward', $resolver) : ();
    exec { $pasta } 'pasta', '--config-net', '--foreground', '--quiet', '--no-map-gw', @closed, @names, '--pid', $ready, $holder
      or print STDERR "$pasta: $!\n";
    exit 127;
  }
  for (1 .. $attemptSeconds * 50) {
    return $way if -s $ready;
    if (waitpid($way, 1) > 0) {
      my ($complaint) = grep { /\S/ } reverse split /\n/, contentOf($complaints) // '';
      die 'pasta: ' . ($complaint // 'it ended') . "\n";
    }
    select(undef, undef, undef, 0.02);
  }
  kill 'KILL', $way;
  waitpid($way, 0);
  die "pasta was not ready within $attemptSeconds s\n";
}

# --- the program

# Enters what is there, or has it made first.
sub ensure {
  open(my $lock, '>', "$folder/lock") or die "$folder/lock: $!\n";
  flock($lock, 2) or die "$folder/lock: $!\n";
  my $there = recorded();
  return $there if $there;
  pipe(my $hear, my $told) or die "a pipe: $!\n";
  my $child = fork // die "no process can be made: $!\n";
  if ($child == 0) {
    close $_ for $hear, $lock;
    # Nobody's child, so that whoever started the program need not wait for it.
    my $keeper = fork // exit 1;
    exit 0 if $keeper;
    keep($told);
  }
  close $told;
  waitpid($child, 0);
  my $said = <$hear> // "its keeper ended\n";
  chomp $said;
  die "$said\n" if $said ne 'made';
  return recorded() // die "its keeper ended\n";
}

# Listening sockets of the machine's own network. One that cannot be had is said by the name of its error.
sub listeners {
  my (%open, %refused);
  for my $one (split /,/, $listen) {
    my ($name, $host, $port, $count) = $one =~ m{^(\w+)=(.*)/(\d+)/(\d+)$} or die "$one: not a place to listen at\n";
    my $socket = listenAt($host, $port);
    if (!ref $socket) {
      $refused{$name} = $socket;
      next;
    }
    # Whoever stops listening closes its descriptor, and may want to begin again.
    my @same = map { open(my $copy, '+<&', $socket) or die "$name: $!\n"; $copy } 2 .. $count;
    $open{$name} = [$socket, @same];
  }
  return (\%open, \%refused);
}

sub listenAt {
  my ($host, $port) = @_;
  my ($problem, @found) = getaddrinfo($host, $port, { flags => AI_PASSIVE, socktype => SOCK_STREAM });
  return 'ENOTFOUND' if $problem || !@found;
  my $place = $found[0];
  socket(my $socket, $place->{family}, SOCK_STREAM, 0) or return errorName();
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($socket, $place->{addr}) && listen($socket, 1024) or return errorName();
  return $socket;
}

sub errorName {
  my ($name) = grep { $!{$_} } qw(EADDRINUSE EADDRNOTAVAIL EACCES);
  return $name // "errno $!";
}

sub enter {
  my ($holder) = @_;
  my $directory = readlink '/proc/self/cwd';
  my @kinds = qw(user mnt net);
  my @files = map { open(my $file, '<', "/proc/$holder/ns/$_") or die "namespaces: $!\n"; $file } @kinds;
  must("the namespace $kinds[$_]", call('setns', fileno $files[$_], $namespace{$kinds[$_]})) for 0 .. $#kinds;
  chdir $directory or die "$directory: $!\n";
  my $all = 0;
  $all |= 1 << $_ for @capabilities;
  # Permitted, effective and inheritable; then kept by what is run, which is not root's.
  my $header = pack('L l', 0x20080522, 0);
  my $sets = pack('L6', $all, $all, $all, 0, 0, 0);
  must('capabilities', call('capset', $header, $sets));
  must('capabilities', call('prctl', 47, 2, $_, 0, 0)) for @capabilities;
}

sub quoted {
  my ($text) = @_;
  $text =~ s/[^ -~]|["\\]/ /g;
  return "\"$text\"";
}

sub facts {
  my ($keeper, $open, $refused) = @_;
  my @open = map { my $name = $_; quoted($name) . ':[' . join(',', map { fileno $_ } @{$open->{$name}}) . ']' } sort keys %$open;
  my @refused = map { quoted($_) . ':' . quoted($refused->{$_}) } sort keys %$refused;
  return sprintf '{"keeper":%d,"listeners":{%s},"refused":{%s}}', $keeper, join(',', @open), join(',', @refused);
}

my ($open, $refused) = ({}, {});
my $told = eval {
  my $there = ensure();
  # Kept open for the program.
  local $^F = 65536;
  ($open, $refused) = listeners();
  enter($there->{holder});
  facts($there->{keeper}, $open, $refused);
};
if (!defined $told) {
  my $reason = $@ =~ s/\s+$//r;
  close $_ for map { @$_ } values %$open;
  $told = '{"reason":' . quoted($reason) . '}';
}
$ENV{SLUICE_USER_NETWORK} = $told;
exec { $program[0] } @program or die "$program[0]: $!\n";
