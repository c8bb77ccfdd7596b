/**
 * The processor time that this thread has used. Tests measure costs in it, since on a busy machine everything takes
 * longer, but not more work.
 */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
