// Which page an address shows.
import type { VNode } from 'preact';
import { JobPage } from './pages/job_page.tsx';
import { JobsPage } from './pages/jobs_page.tsx';
import { TrainPage } from './pages/train_page.tsx';
import type { Route } from './router.tsx';
import { Empty } from './ui/parts.tsx';

export function pageOf(route: Route): VNode {
  const [section = 'jobs', id, ...rest] = route.parts;
  if (section === 'jobs' && !id) return <JobsPage route={route} />;
  if (section === 'jobs' && id && rest.length === 0) return <JobPage key={id} id={id} />;
  if (section === 'train' && !id) return <TrainPage key={route.query.toString()} route={route} />;
  return (
    <Empty title="There is no such page" action={{ href: '/jobs', text: 'To the jobs' }}>
      The address is misspelt, or what it named is gone.
    </Empty>
  );
}
