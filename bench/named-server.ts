/** A server that answers with its name. It listens on all addresses, as nearly every server does. */
export const namedServer = (port: number): string => `
use IO::Socket::INET; $SIG{PIPE} = 'IGNORE'; $SIG{TERM} = sub { exit };
my $listener = IO::Socket::INET->new(LocalPort => ${port}, Listen => 64, ReuseAddr => 1) or die $!;
while (my $one = $listener->accept) {
  sysread $one, my $request, 4096;
  my $name = $ENV{NAME};
  syswrite $one, "HTTP/1.1 200 OK\\r\\nconnection: close\\r\\ncontent-length: " . length($name) . "\\r\\n\\r\\n$name";
  close $one;
}`
