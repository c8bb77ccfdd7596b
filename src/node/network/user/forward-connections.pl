# Of forward-port.pl: a port of TCP.
use strict;
use Errno;
use Socket qw(:DEFAULT IPPROTO_TCP TCP_NODELAY SO_KEEPALIVE SO_LINGER);

my $mostConnections = 1024;
my $mostHeld = 65536;
my $connectSeconds = 10;
my $drainSeconds = 30;
my $crowdedSeconds = 0.2;
my ($TCP_KEEPIDLE, $TCP_KEEPINTVL, $TCP_KEEPCNT) = (4, 5, 6);

my $connections = 0;
# By the descriptor of the socket towards the Pod: those that nobody has answered yet.
my %connecting;

sub prepare {
  my ($socket) = @_;
  return listen($socket, 1024);
}

sub serve {
  my ($listener) = @_;
  my ($endsAt, $crowdedUntil) = (undef, 0);
  my $accept = sub { $crowdedUntil = now() + $crowdedSeconds if !acceptFrom($listener) };
  watch(\*STDIN, sub { $endsAt = now() + $drainSeconds }, undef);
  until ($endsAt && (!$connections || now() >= $endsAt)) {
    if ($endsAt && $listener) {
      watch(\*STDIN, undef, undef);
      forget($listener);
      undef $listener;
    }
    my $now = now();
    refuse($_) for grep { $connecting{$_}{until} <= $now } keys %connecting;
    # Those for whom there is no room wait in the kernel's queue.
    my $isOpen = $connections < $mostConnections && $now >= $crowdedUntil;
    watch($listener, $isOpen ? $accept : undef, undef) if $listener;
    turn($now < $crowdedUntil ? $crowdedSeconds : 1);
  }
}

# False where the machine has no room for another.
sub acceptFrom {
  my ($listener) = @_;
  my $from = accept(my $client, $listener) or return $!{EAGAIN} || $!{EINTR} || $!{ECONNABORTED};
  my $server = towardsPod(hostIn($from));
  if (!$server) {
    endRudely($client);
    close $client;
    return 0;
  }
  $client->blocking(0);
  keepWatch($_) for $client, $server;
  $connections += 1;
  my $number = fileno $server;
  $connecting{$number} = { client => $client, server => $server, until => now() + $connectSeconds };
  watch($server, undef, sub { connected($number) });
  return 1;
}

# Whoever is gone without a word is noticed within minutes.
sub keepWatch {
  my ($socket) = @_;
  setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1);
  setsockopt($socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  setsockopt($socket, IPPROTO_TCP, $TCP_KEEPIDLE, 120);
  setsockopt($socket, IPPROTO_TCP, $TCP_KEEPINTVL, 30);
  setsockopt($socket, IPPROTO_TCP, $TCP_KEEPCNT, 4);
}

sub connected {
  my ($number) = @_;
  my $pair = $connecting{$number};
  my $failure = unpack('i', getsockopt($pair->{server}, SOL_SOCKET, SO_ERROR));
  return refuse($number) if $failure;
  return if !getpeername $pair->{server};
  delete $connecting{$number};
  relay($pair->{client}, $pair->{server});
}

sub refuse {
  my ($number) = @_;
  my $pair = delete $connecting{$number};
  endRudely($pair->{client});
  forget($_) for $pair->{client}, $pair->{server};
  $connections -= 1;
}

# The other side of it learns by a reset that it was no proper end.
sub endRudely {
  my ($socket) = @_;
  setsockopt($socket, SOL_SOCKET, SO_LINGER, pack('i i', 1, 0));
}

# Two ends, each with what was read from the other and could not be written to it yet. Nothing more is read from the other until that
# is gone, so nobody is read faster than it is taken. The end of what one side says is passed on, and the other may go on.
sub relay {
  my ($client, $server) = @_;
  my ($one, $other) = map { { socket => $_, held => undef, isOver => 0, isShut => 0 } } $client, $server;
  ($one->{other}, $other->{other}) = ($other, $one);
  for my $end ($one, $other) {
    $end->{take} = sub { take($end) };
    $end->{give} = sub { give($end) };
  }
  follow($_) for $one, $other;
}

sub follow {
  my ($end) = @_;
  my $isRead = !$end->{isOver} && !defined $end->{other}{held};
  watch($end->{socket}, $isRead ? $end->{take} : undef, defined $end->{held} ? $end->{give} : undef);
}

sub take {
  my ($end) = @_;
  my $got = sysread($end->{socket}, my $bytes, $mostHeld);
  if (!defined $got) {
    breakOff($end) unless $!{EAGAIN} || $!{EINTR};
    return;
  }
  if ($got == 0) {
    $end->{isOver} = 1;
  } else {
    $end->{other}{held} = $bytes;
  }
  give($end->{other});
}

sub give {
  my ($end) = @_;
  my $other = $end->{other};
  if (defined $end->{held}) {
    my $sent = syswrite $end->{socket}, $end->{held};
    return breakOff($end) unless defined $sent || $!{EAGAIN} || $!{EINTR};
    substr($end->{held}, 0, $sent // 0, '');
    undef $end->{held} if !length $end->{held};
  }
  if ($other->{isOver} && !defined $end->{held} && !$end->{isShut}) {
    $end->{isShut} = 1;
    shutdown $end->{socket}, 1;
    return part($end) if $other->{isShut};
  }
  follow($_) for $end, $other;
}

sub part {
  my ($end) = @_;
  my $other = $end->{other};
  forget($_->{socket}) for $end, $other;
  # They hold each other and themselves.
  delete @$_{qw(other take give)} for $end, $other;
  $connections -= 1;
}

sub breakOff {
  my ($end) = @_;
  endRudely($_->{socket}) for $end, $end->{other};
  part($end);
}

1;
