# Of forward-port.pl: a port of UDP. Each client has a socket of its own towards the Pod, for as long as one of them sends.
use strict;
use Socket;

my $mostFlows = 1024;
# As the kernel has it: who was never answered is forgotten sooner.
my ($answeredSeconds, $unansweredSeconds) = (120, 30);
my $lookSeconds = 5;
my $datagramsPerTurn = 64;
my $longestDatagram = 65536;
my $shortestNote = 28;

my ($SOL_IP, $SOL_IPV6, $MSG_DONTWAIT) = (0, 41, 0x40);
my ($IP_PKTINFO, $IPV6_RECVPKTINFO, $IPV6_PKTINFO) = (8, 49, 50);

my $port;
# By the client and the address that it sends to.
my %flows;
# The kernel writes into these, so each must be a piece of memory of its own.
my ($data, $name, $control) = ('', '', '');
vec($data, $longestDatagram - 1, 8) = 0;
vec($name, 127, 8) = 0;
vec($control, 63, 8) = 0;

# The kernel is to tell to which of the machine's addresses a datagram was sent: the answer must come from there.
sub prepare {
  my ($socket, $family) = @_;
  return setsockopt($socket, $SOL_IP, $IP_PKTINFO, 1) if $family == AF_INET;
  return setsockopt($socket, $SOL_IPV6, $IPV6_RECVPKTINFO, 1);
}

sub serve {
  ($port) = @_;
  my ($isOver, $lookAt) = (0, now() + $lookSeconds);
  watch(\*STDIN, sub { $isOver = 1 }, undef);
  watch($port, \&takeDatagrams, undef);
  until ($isOver) {
    turn($lookSeconds);
    my $now = now();
    next if $now < $lookAt;
    $lookAt = $now + $lookSeconds;
    endFlow($_) for grep { $now - $_->{at} > ($_->{isAnswered} ? $answeredSeconds : $unansweredSeconds) } values %flows;
  }
}

sub takeDatagrams {
  for (1 .. $datagramsPerTurn) {
    my ($client, $told, $datagram) = receive() or return;
    next if length $told < $shortestNote;
    my $flow = flowOf($client, $told) // next;
    $flow->{at} = now();
    # What the Pod does not take is lost, as datagrams are.
    send($flow->{socket}, $datagram, 0);
  }
}

sub takeAnswers {
  my ($flow) = @_;
  for (1 .. $datagramsPerTurn) {
    # That nobody listens is told as an error once, and may be over the next time.
    defined recv($flow->{socket}, my $datagram, $longestDatagram, 0) or return;
    ($flow->{at}, $flow->{isAnswered}) = (now(), 1);
    answer($flow, $datagram);
  }
}

# --- who sends

sub flowOf {
  my ($client, $told) = @_;
  my $asked = asked($told);
  my $key = "$client$asked";
  return $flows{$key} if $flows{$key};
  hasRoom() or return undef;
  my $socket = towardsPod(hostIn($client)) // return undef;
  my $flow = { key => $key, client => $client, asked => $asked, socket => $socket, isAnswered => 0 };
  watch($socket, sub { takeAnswers($flow) }, undef);
  return $flows{$key} = $flow;
}

# Senders may lie about who they are: where there are too many, the one goes that is silent the longest of those never answered.
sub hasRoom {
  return 1 if keys %flows < $mostFlows;
  my $oldest;
  for my $flow (grep { !$_->{isAnswered} } values %flows) {
    $oldest = $flow if !$oldest || $flow->{at} < $oldest->{at};
  }
  return 0 if !$oldest;
  endFlow($oldest);
  return 1;
}

sub endFlow {
  my ($flow) = @_;
  delete $flows{$flow->{key}};
  forget($flow->{socket});
}

# --- what the kernel tells and is told (struct msghdr, struct cmsghdr)

# The client, what is told about it, and the datagram; nothing where there is none.
sub receive {
  my $part = pack('P Q', $data, $longestDatagram);
  my $message = pack('P L x4 P Q P Q i x4', $name, length $name, $part, 1, $control, length $control, 0);
  my $got = call('recvmsg', fileno $port, $message, $MSG_DONTWAIT) // return;
  my ($nameLength, $toldLength) = unpack('x8 L x28 Q', $message);
  return (substr($name, 0, $nameLength), substr($control, 0, $toldLength), substr($data, 0, $got));
}

# What the kernel is told for an answer to come from the address that was asked.
sub asked {
  my ($told) = @_;
  my ($level, $about) = unpack('x8 i x4 a*', $told);
  if ($level == $SOL_IP) {
    return pack('Q i i L a4 x4 x4', 28, $SOL_IP, $IP_PKTINFO, 0, substr($about, 4, 4));
  }
  my ($host, $device) = unpack('a16 L', $about);
  # An address of a link is one only together with its device.
  my $isOfLink = (unpack('n', $host) & 0xffc0) == 0xfe80;
  return pack('Q i i a16 L x4', 36, $SOL_IPV6, $IPV6_PKTINFO, $host, $isOfLink ? $device : 0);
}

sub answer {
  my ($flow, $datagram) = @_;
  my ($client, $asked) = @$flow{qw(client asked)};
  my $part = pack('P Q', $datagram, length $datagram);
  my $message = pack('P L x4 P Q P Q i x4', $client, length $client, $part, 1, $asked, length $asked, 0);
  call('sendmsg', fileno $port, $message, $MSG_DONTWAIT);
}

1;
