import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A disk whose syncs take as long as a test wants, for every process that is started with `env`. */
export interface SlowDisk {
  /** To be added to the environment of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Makes each sync take this much longer from now on. Syncs that are under way are not affected. */
  setSyncMs(ms: number): void
  /** How many syncs have begun. */
  syncs(): number
}

/** Why a slow disk is not possible here; `undefined` when it is. */
export const noSlowDisk: string | undefined =
  process.platform !== 'linux'
    ? 'only on Linux'
    : spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0
      ? undefined
      : 'no cc'

/**
 * A library that delays syncs. SQLite uses fdatasync if it exists; fsync is delayed as well. The delay is read at every
 * sync.
 */
const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void delay(void) {
  const char *path = getenv("SLUICE_TEST_SYNC_MS");
  const char *count = getenv("SLUICE_TEST_SYNCS");
  char text[16] = {0};
  int file = count ? open(count, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file >= 0) { ssize_t ignored = write(file, ".", 1); (void)ignored; close(file); }
  file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  long ms = length > 0 ? atol(text) : 0;
  struct timespec left = {ms / 1000, (ms % 1000) * 1000000};
  while (ms > 0 && nanosleep(&left, &left) != 0) {}
}

int fsync(int fd) { delay(); return (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { delay(); return (int)syscall(SYS_fdatasync, fd); }
`

/** Makes the library in this folder, which must outlive the processes. */
export function makeSlowDisk(folder: string): SlowDisk {
  const library = join(folder, 'slow-disk.so')
  const code = join(folder, 'slow-disk.c')
  const delayFile = join(folder, 'sync-ms')
  const countFile = join(folder, 'syncs')
  writeFileSync(code, source)
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, code], { encoding: 'utf8' })
  if (built.status !== 0) throw new Error(`cc: ${built.stderr}`)
  writeFileSync(delayFile, '0')
  return {
    env: { LD_PRELOAD: library, SLUICE_TEST_SYNC_MS: delayFile, SLUICE_TEST_SYNCS: countFile },
    setSyncMs: (ms) => writeFileSync(delayFile, String(ms)),
    syncs: () => (existsSync(countFile) ? statSync(countFile).size : 0),
  }
}
