// Draws docs/pictures/autoscaling.svg again, which a test compares: `npx node scripts/draw-autoscaling.ts`.
import { writeFileSync } from 'node:fs'
import { dayFigure } from '../bench/autoscaler/day-figure.ts'

const { svg, outcome } = dayFigure()
writeFileSync(new URL('../docs/pictures/autoscaling.svg', import.meta.url), svg)
console.log(outcome)
