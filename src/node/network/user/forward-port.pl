# Leads one port of the machine to a Pod in the network of an ordinary user (see user-network.pl).
#
#     perl -w forward-port.pl ARCH FOLDER HOLDER PROTOCOL ADDRESS PORT MACHINE POD POD-PORT
#
# The port is opened in the machine's network, then the network of HOLDER is entered: a socket stays in the network it was made in.
# MACHINE is the address by which Pods know the machine. Says `open` on its output, or why the port cannot be had. When its input ends,
# the port is free at once, connections have some seconds more, and this program ends.
#
# Clients keep their addresses, so that Pods see them and NetworkPolicies are about them: sockets towards the Pod have the client's
# (IP_TRANSPARENT), and a mark by which the rules of the network judge them and lead the answers back here. Only who comes from the
# machine's loopback, where no Pod can come from, appears as the machine, which policies are not about: at its other addresses a
# client may be pasta, which speaks for a Pod.
use strict;
use Errno;
use File::Basename qw(dirname);
use IO::Handle;
use Socket qw(:DEFAULT getaddrinfo AI_NUMERICHOST IPPROTO_IPV6 IPV6_V6ONLY IN6ADDR_LOOPBACK unpack_sockaddr_in6 pack_sockaddr_in6);

my ($arch, $folder, $holder, $protocol, $address, $port, $machine, $pod, $podPort) = @ARGV;
my %calls = (
  x64 => { sendmsg => 46, recvmsg => 47, capset => 126, prctl => 157, clock_gettime => 228, setns => 308 },
  arm64 => { capset => 91, clock_gettime => 113, prctl => 167, sendmsg => 211, recvmsg => 212, setns => 268 },
);
my $callOf = $calls{$arch} or die "there is no table of system calls for $arch\n";
# What makes a port of connections and one of datagrams different: `prepare` and `serve`.
my %kinds = (tcp => [SOCK_STREAM, 'forward-connections.pl'], udp => [SOCK_DGRAM, 'forward-datagrams.pl']);
my ($type, $file) = @{$kinds{$protocol} or die "there is no protocol $protocol\n"};
require(dirname(__FILE__) . "/$file");

# As in rules/forwarded-rules.ts.
my $foreignMark = 0x51;
my ($SOL_IP, $SOL_IPV6) = (0, 41);
my ($IP_TRANSPARENT, $IPV6_TRANSPARENT, $SO_MARK) = (19, 75, 36);
my ($CAP_NET_ADMIN, $PR_SET_NO_NEW_PRIVS, $CLOCK_MONOTONIC) = (12, 38, 1);
my %namespaces = (user => 0x10000000, net => 0x40000000);

# Passes on the arguments themselves: the kernel writes into some.
sub call {
  my $name = shift;
  my $result = syscall($callOf->{$name}, @_);
  return $result == -1 ? undef : $result;
}

# Seconds of a clock that nobody sets.
sub now {
  my $time = "\0" x 16;
  call('clock_gettime', $CLOCK_MONOTONIC, $time);
  my ($seconds, $nanoseconds) = unpack('q q', $time);
  return $seconds + $nanoseconds / 1e9;
}

# --- addresses

sub placeOf {
  my ($host, $at) = @_;
  my ($problem, $found) = getaddrinfo($host, $at, { flags => AI_NUMERICHOST, socktype => SOCK_STREAM });
  die "$host is no address\n" if $problem || !$found;
  return $found;
}

# The address alone, without a port.
sub hostIn {
  my ($place) = @_;
  return (sockaddr_family($place) == AF_INET ? unpack_sockaddr_in($place) : unpack_sockaddr_in6($place))[1];
}

# That address, with whatever port is free.
sub anyPortAt {
  my ($host) = @_;
  return length $host == 4 ? pack_sockaddr_in(0, $host) : pack_sockaddr_in6(0, $host);
}

sub isLoopback {
  my ($host) = @_;
  return length $host == 4 ? ord $host == 127 : $host eq IN6ADDR_LOOPBACK;
}

# --- the port, and the network

sub reason {
  my ($name) = grep { $!{$_} } qw(EADDRINUSE EADDRNOTAVAIL EACCES);
  return ($name // lcfirst "$!") . "\n";
}

sub openPort {
  my $place = placeOf($address, $port);
  socket(my $socket, $place->{family}, $type, 0) or die reason();
  setsockopt($socket, IPPROTO_IPV6, IPV6_V6ONLY, 1) if $place->{family} == AF_INET6;
  # With datagrams, two programs could have the same port then.
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) if $type == SOCK_STREAM;
  bind($socket, $place->{addr}) && prepare($socket, $place->{family}) or die reason();
  $socket->blocking(0);
  return $socket;
}

# Of all rights in that network only the one to send with a client's address is kept.
sub enterNetwork {
  for my $kind (qw(user net)) {
    open(my $namespace, '<', "/proc/$holder/ns/$kind") or die "the namespace $kind: $!\n";
    defined call('setns', fileno $namespace, $namespaces{$kind}) or die "the namespace $kind: $!\n";
  }
  my $right = 1 << $CAP_NET_ADMIN;
  defined call('capset', pack('L l', 0x20080522, 0), pack('L6', $right, $right, 0, 0, 0, 0)) or die "rights: $!\n";
  call('prctl', $PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

my ($target, $machineHost);

# A socket on its way to the Pod, for a client at this address; undef where there can be none.
sub towardsPod {
  my ($client) = @_;
  socket(my $socket, $target->{family}, $type, 0) or return undef;
  $socket->blocking(0);
  # Addresses that mean something on one link only cannot be had elsewhere: the machine stands for them, and they are judged as such.
  my $isBound = !isLoopback($client) && marked($socket) && bind($socket, anyPortAt($client));
  return undef if !$isBound && !bind($socket, anyPortAt($machineHost));
  return $socket if connect($socket, $target->{addr}) || $!{EINPROGRESS};
  return undef;
}

sub marked {
  my ($socket) = @_;
  my ($level, $option) = $target->{family} == AF_INET ? ($SOL_IP, $IP_TRANSPARENT) : ($SOL_IPV6, $IPV6_TRANSPARENT);
  return setsockopt($socket, SOL_SOCKET, $SO_MARK, $foreignMark) && setsockopt($socket, $level, $option, 1);
}

# --- what is waited for

# By descriptor: what to do when there is something to read, and when there is room to write.
my (@onRead, @onWrite);
my ($reads, $writes) = ('', '');

sub watch {
  my ($socket, $onRead, $onWrite) = @_;
  my $number = fileno $socket;
  ($onRead[$number], $onWrite[$number]) = ($onRead, $onWrite);
  vec($reads, $number, 1) = $onRead ? 1 : 0;
  vec($writes, $number, 1) = $onWrite ? 1 : 0;
}

sub forget {
  my ($socket) = @_;
  watch($socket, undef, undef);
  close $socket;
}

# Waits, and calls those that are ready. One of them may be told in vain: its descriptor was another's a moment ago.
sub turn {
  my ($seconds) = @_;
  my ($read, $write) = ($reads, $writes);
  return if select($read, $write, undef, $seconds) <= 0;
  for ([$read, \@onRead], [$write, \@onWrite]) {
    my ($bits, $calls) = (unpack('b*', $_->[0]), $_->[1]);
    for (my $number = index($bits, '1'); $number >= 0; $number = index($bits, '1', $number + 1)) {
      my $call = $calls->[$number];
      $call->() if $call;
    }
  }
}

$0 = "sluice-port $protocol $address $port $folder";
$SIG{$_} = 'IGNORE' for qw(HUP INT PIPE);
my $socket = eval {
  ($target, $machineHost) = (placeOf($pod, $podPort), hostIn(placeOf($machine, 0)->{addr}));
  my $opened = openPort();
  enterNetwork();
  $opened;
};
syswrite(STDOUT, $socket ? "open\n" : $@);
exit 1 if !$socket;
close STDOUT;
serve($socket);
