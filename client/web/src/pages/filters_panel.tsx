// The Gabor filters that a model has chosen, as pictures: grey is 0, white 1, black -1.
import { useEffect, useRef } from 'preact/hooks';
import type { WeightBar } from '../lib/weights.ts';
import { type GaborFilter, filterValue, parseFilter } from '../lib/weights.ts';

const SIDE = 48;
const MOST = 100;

function FilterPicture({ filter, extent, title }: { filter: GaborFilter; extent: number; title: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(SIDE, SIDE);
    const step = extent / SIDE;
    for (let pixel = 0; pixel < SIDE * SIDE; ++pixel) {
      const z = step * (Math.floor(pixel / SIDE) - (SIDE - 1) / 2);
      const y = step * ((pixel % SIDE) - (SIDE - 1) / 2);
      image.data.fill(Math.round(127.5 * (1 + filterValue(filter, z, y))), 4 * pixel, 4 * pixel + 3);
      image.data[4 * pixel + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  }, [title, extent]);
  return <canvas ref={canvas} width={SIDE} height={SIDE} role="img" aria-label={title} title={title} />;
}

/** In the order of the bars; nothing for features that are no filters. */
export function Filters({ bars }: { bars: WeightBar[] }) {
  const filters = bars.slice(0, MOST).flatMap((bar) => {
    const filter = parseFilter(bar.title);
    return filter ? [{ filter, title: bar.title }] : [];
  });
  if (filters.length === 0) return null;
  // One scale for all: four of the largest widths.
  const extent = 4 * Math.max(...filters.map(({ filter }) => Math.max(filter.scaleZ, filter.scaleY)));
  return (
    <div class="filters">
      {filters.map(({ filter, title }) => (
        <FilterPicture key={title} filter={filter} extent={extent} title={title} />
      ))}
    </div>
  );
}
