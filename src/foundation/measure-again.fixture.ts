/** Bursts of what disturbs are shorter than so many measurements. */
const mostMeasurements = 4

/**
 * Measures a cost until it is as expected, a few times at most. A machine whose host takes its processors away counts a
 * part of that as the processor time of whoever ran; what is too much by itself is so each time.
 */
export async function measureAgain<T>(measure: () => Promise<T>, isExpected: (cost: T) => boolean): Promise<T> {
  let cost = await measure()
  for (let count = 1; count < mostMeasurements && !isExpected(cost); count++) cost = await measure()
  return cost
}
