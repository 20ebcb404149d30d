"""The kinds of documents that are summed up, each with what its summary has to say and two examples."""

from collections.abc import Mapping

from monitor.llm.prompts import Prompt, define_prompt
from monitor.vocabulary import DocumentKind

EXAMPLE_LABELS = {"zh": "例：", "en": "Example: "}

GUIDES: Mapping[DocumentKind, dict[str, Prompt]] = {
    DocumentKind.POLICY: define_prompt(
        "summary.policy",
        zh="""这类文件要写：谁发布或提出了什么，处于草案、试行、正式还是废止阶段；主要措施、关键数字和适用对象；何时施行。
例：青禾省发展改革委要求新建数据中心电能利用效率不高于1.25，存量项目2027年底前改造完毕；办法自2026年5月1日起试行两年。
例：海河市住建局把保障房收入线由月均4800元提高到5600元，持居住证者也可申请；6月1日起施行，2019年的规定同时废止。""",
        en="""Such a document needs: who issued or proposed what, and whether it is a draft, a trial, final or \
repealed; the main measures, figures and whom they concern; when it takes effect.
Example: Harland's energy office caps new data centres at a power usage ratio of 1.25; existing sites have \
until the end of 2027. The rule runs as a two-year trial from 1 May 2026.
Example: Westmere Council raises the income limit for social housing from £1,450 to £1,680 a month from 1 \
June and repeals its 2019 scheme.""",
    ),
    DocumentKind.CONSULTATION: define_prompt(
        "summary.consultation",
        zh="""这是征求意见：写明谁就什么征求意见，拟规定或改动什么（用“拟”，不写成已经施行），意见何时截止、如何反馈。
例：云岭省能源局拟要求工商业储能站配置独立消防系统，站房间距不小于3米；意见在2026年4月20日前寄至该局安全处。
例：海河市标准院拟把家用充电桩的漏电保护由可选改为必备，并留18个月过渡期；5月9日截止，可在线提交。""",
        en="""This is a consultation: say who consults on what, what would be required or changed (never as if \
it were in force), and until when and how to comment.
Example: The Harland Energy Board proposes a separate fire system for commercial batteries and 3 metres \
between units; comments are due by 20 April 2026.
Example: The Westmere standards office would make leakage protection compulsory for home chargers, with 18 \
months to adapt; answers go online until 9 May.""",
    ),
    DocumentKind.ENFORCEMENT: define_prompt(
        "summary.enforcement",
        zh="""这是执法文件：写明谁因何行为、依据什么、被谁处以什么、金额多少，以及整改或申诉的期限。
例：青禾证监局认定远帆股份虚增2024年收入1.3亿元，依证券法对公司罚款600万元，对董事长罚款200万元。
例：海河市市场监管局因虚假宣传对康源公司罚款42万元，责令停播广告，公司须在15日内改正。""",
        en="""This is enforcement: say who did what, under which law, what was imposed by whom and how much, \
and the time to mend it or to appeal.
Example: The Harland Markets Authority fined Farsail plc £6 million and its chair £200,000 under the \
Securities Act for overstating 2024 revenue by £13 million.
Example: Westmere Trading Standards fined Kangyuan Ltd £42,000 for misleading advertising and gave it 15 days \
to withdraw the campaign.""",
    ),
    DocumentKind.STATISTICS: define_prompt(
        "summary.statistics",
        zh="""这是统计数据：写明指标、统计期、数值和单位、同比或环比的方向与幅度，以及最突出的分项；各期、各指标的数字不混用。
例：1至4月云岭省发电量862亿千瓦时，同比增长4.1%，其中风电增长15.7%；4月当月下降0.6%。
例：青禾省5月居民消费价格环比下降0.3%，同比上涨0.9%；猪肉同比上涨6.2%，拉动最大。""",
        en="""These are statistics: give the indicator, its period, value and unit, the direction and size of \
the change, and the component that stands out; never mix periods or indicators.
Example: Harland generated 86.2 TWh from January to April, up 4.1% on the year, wind 15.7%; April alone fell \
by 0.6%.
Example: Westmere's consumer prices fell 0.3% in May and were 0.9% higher than a year before; rents, up 6.2%, \
added most.""",
    ),
    DocumentKind.INTERPRETATION: define_prompt(
        "summary.interpretation",
        zh="""这是解读：写明是谁对哪份文件的说明，为何出台，与以前相比改变了什么，对谁有什么要求。
例：云岭省医保局解释，新目录把慢病用药由86种增至112种，起因是基层缺药；7月起门诊按60%报销。
例：海河市税务局说明，个体户减税不再备案，年所得100万元以内的部分减半，自行申报即可。""",
        en="""This is an explanation: say who explains which document, why it was made, what changes against \
before, and for whom.
Example: Harland's health office explains that its new list covers 112 medicines instead of 86 because \
clinics ran short; 60% is refunded from July.
Example: Westmere's tax office says sole traders need no registration: the first £100,000 of profit is halved \
when they file.""",
    ),
    DocumentKind.PERSONNEL: define_prompt(
        "summary.personnel",
        zh="""这是人事信息：写明谁由谁任命或免职，任何职、免何职，自何时起；没有的项目不写。
例：青禾省政府任命林若川为省科技厅副厅长，试用期一年，免去其省发展改革委处长职务。
例：海河市人大常委会4月18日决定任命沈知远为市财政局局长，接替退休的许明达。""",
        en="""This is about a person: say who was appointed or removed, by whom, to or from which post, from \
when; leave out what is not there.
Example: Harland's cabinet appointed Ruth Calder deputy head of its science office for a trial year; she \
leaves the planning board.
Example: Westmere Council elected Owen Marsh as treasurer on 18 April; he succeeds Ida Thorne, who retires.""",
    ),
    DocumentKind.MEETING: define_prompt(
        "summary.meeting",
        zh="""这是会议或讲话：写明谁在何时何处讲了或议定了什么；表态写成“某某表示”，不写成已经实施。
例：云岭省省长赵清源3月12日在电力会议上表示，今年将新增储能200万千瓦，并要求各市6月前报送清单。
例：海河市政府常务会议原则通过充电设施方案，由市住建局牵头，年内在老旧小区建桩1.2万个。""",
        en="""This is a meeting or a speech: say who said or decided what, when and where; what was announced \
is given as said by somebody, not as done.
Example: Premier Clare Aston told Harland's grid conference on 12 March that 2 GW of storage would be added \
this year, and asked towns for project lists by June.
Example: Westmere's cabinet approved the charging plan in principle: housing takes the lead, with 12,000 \
points on old estates this year.""",
    ),
    DocumentKind.STANDARD: define_prompt(
        "summary.standard",
        zh="""这是标准：写明名称或编号、适用范围、主要指标和限值、强制还是推荐、代替哪项标准、何时实施。
例：GB/T 90017—2026规定20千瓦时以下户用储能电池循环寿命不少于6000次；推荐性标准，2026年10月1日实施。
例：新标准把锅炉氮氧化物限值由200毫克/立方米降至50毫克/立方米，强制执行，代替QH 3301—2018。""",
        en="""This is a standard: give its name or number, scope, main requirements and limits, whether it \
binds, what it replaces and from when.
Example: HS 90017:2026 asks home batteries under 20 kWh to last 6,000 cycles; it is voluntary and applies \
from 1 October 2026.
Example: The new boiler standard lowers the limit for nitrogen oxides from 200 to 50 mg/m3; it binds, and \
replaces HS 3301:2018.""",
    ),
}
"""What a summary of each kind has to say, with two examples; invented, so that one that is copied stands on no page."""


def split_examples(wording: str) -> tuple[str, list[str]]:
    """Return a wording without its lines of examples, and the examples."""
    labels = tuple(EXAMPLE_LABELS.values())
    lines = wording.splitlines()
    examples = [line.partition(label)[2] for line in lines for label in labels if line.startswith(label)]
    return "\n".join(line for line in lines if not line.startswith(labels)), examples
