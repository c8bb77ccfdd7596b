# Of user-network.pl, in its keeper: ports of the machine that lead to Pods (`hostPort`), each by a process of its own (forward-port.pl).
#
# Sluice writes the wanted ones into files in FOLDER/ports, a line each: `PROTOCOL ADDRESS PORT MACHINE POD POD-PORT`. FOLDER/ports.said
# has the number of the keeper, and each of these lines with how it is: `open`, or why the port cannot be had. Then it is tried again,
# ever more rarely.
use strict;
use File::Basename qw(dirname);

my $program = dirname(__FILE__) . '/forward-port.pl';
my $mostPorts = 256;
my $tooMany = "more than $mostPorts ports are asked for";
my ($shortestPause, $longestPause) = (0.2, 30);
my $heldSeconds = 60;

my ($arch, $folder);
# By line: the process and the ends of its input and output, how the port is, and when and after which pause it is tried again.
my %ports;
my $lastSaid = '';

# What former keepers were asked for led to Pods that are gone with their network.
sub openPorts {
  ($arch, $folder) = @_;
  mkdir "$folder/ports", 0700;
  unlink portFiles();
  sayPorts();
}

sub portFiles {
  opendir(my $files, "$folder/ports") or return ();
  # One that is not written to its end has another name.
  return map { "$folder/ports/$_" } sort grep { /^[\w-]+$/ } readdir $files;
}

sub wantedPorts {
  my $number = qr/[0-9]{1,5}/;
  my $host = qr/[0-9a-fA-F.:]+/;
  my @lines = map { split /\n/, contentOf($_) // '' } portFiles();
  my %seen;
  return grep { /^(?:tcp|udp) $host $number $host $host $number$/ && !$seen{$_}++ } @lines;
}

# Brings the processes in line with what is wanted.
sub lookAfterPorts {
  my ($holder) = @_;
  my @wanted = wantedPorts();
  my %isWanted = map { $_ => 1 } @wanted;
  # The end of its input tells a process to end.
  delete @ports{grep { !$isWanted{$_} } keys %ports};
  my $now = time;
  for my $line (@wanted) {
    my $port = $ports{$line} //= { said => '', pause => $shortestPause, dueAt => 0 };
    if (!$port->{pid} && keys %ports > $mostPorts) {
      @$port{qw(said dueAt)} = ($tooMany, $now + $longestPause);
    }
    startPort($line, $port, $holder) if !$port->{pid} && $port->{dueAt} <= $now;
  }
  sayPorts();
}

sub startPort {
  my ($line, $port, $holder) = @_;
  my $started = eval {
    pipe(my $rest, my $tell) or die "a pipe: $!\n";
    pipe(my $hear, my $say) or die "a pipe: $!\n";
    my $pid = fork // die "no process can be made: $!\n";
    if ($pid == 0) {
      open(STDIN, '<&', $rest);
      open(STDOUT, '>&', $say);
      $SIG{$_} = 'DEFAULT' for qw(HUP INT PIPE TERM CHLD);
      exec { $^X } $^X, '-w', $program, $arch, $folder, $holder, split(/ /, $line) or syswrite(STDOUT, "$program: $!\n");
      exit 1;
    }
    @$port{qw(pid tell hear startedAt)} = ($pid, $tell, $hear, time);
    1;
  };
  noteEnd($port, $@ =~ s/\s+$//r) if !$started;
}

# What the keeper waits for beside the end of its children, and for how long at most.
sub hearingPorts {
  my ($seconds) = @_;
  my ($bits, $now) = ('', time);
  for my $port (values %ports) {
    vec($bits, fileno $port->{hear}, 1) = 1 if $port->{hear};
    my $left = $port->{pid} ? $seconds : $port->{dueAt} - $now;
    $seconds = $left < $shortestPause ? $shortestPause : $left if $left < $seconds;
  }
  return ($bits, $seconds);
}

sub hearPorts {
  my ($ready) = @_;
  hearPort($_) for grep { $_->{hear} && vec($ready, fileno $_->{hear}, 1) } values %ports;
}

sub hearPort {
  my ($port) = @_;
  my $got = sysread($port->{hear}, my $said, 500);
  delete $port->{hear};
  # One that ends without a word is noticed by its end.
  $port->{said} = $said =~ s/\n.*//sr if $got;
}

sub portEnded {
  my ($pid) = @_;
  my ($port) = grep { ($_->{pid} // 0) == $pid } values %ports;
  return if !$port;
  hearPort($port) if $port->{hear};
  noteEnd($port, $port->{said} =~ /^(?:open)?$/ ? 'what leads it to the Pod ended' : $port->{said});
}

sub noteEnd {
  my ($port, $said) = @_;
  # One that held for a while is made anew at once, one that does not is waited for.
  $port->{pause} = $shortestPause if time - ($port->{startedAt} // time) > $heldSeconds;
  delete @$port{qw(pid tell hear)};
  @$port{qw(said dueAt)} = ($said, time + $port->{pause});
  $port->{pause} = $port->{pause} * 2 > $longestPause ? $longestPause : $port->{pause} * 2;
}

sub sayPorts {
  my $said = join('', "$$\n", map { "$_ $ports{$_}{said}\n" } grep { $ports{$_}{said} ne '' } sort keys %ports);
  return if $said eq $lastSaid;
  # Said again at the next look where it cannot be written.
  $lastSaid = $said if eval { writeFile("$folder/ports.said.new", $said); rename "$folder/ports.said.new", "$folder/ports.said" };
}

sub portProcesses {
  return grep { defined } map { $_->{pid} } values %ports;
}

1;
